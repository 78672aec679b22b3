import type { DescMethod, MessageShape } from "@bufbuild/protobuf";
import { toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Channel } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { MAX_MESSAGE_BYTES } from "../limits.js";

export type GrpcCall = ReturnType<Channel["createCall"]>;

/** The message of a call that failed because its client was closed. */
export const CLIENT_CLOSED = "the client is closed";

/** Makes the calls of one channel and remembers the open ones, so that close() can end them. */
export class CallSlot {
  readonly #channel: Channel;
  readonly #open = new Set<GrpcCall>();
  #closed = false;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  get openCalls(): number {
    return this.#open.size;
  }

  /** `timeoutMs` undefined or not above 0 means no deadline. Throws a ConnectError when closed. */
  create(method: DescMethod, timeoutMs: number | undefined): GrpcCall {
    if (this.#closed) throw new ConnectError(CLIENT_CLOSED, Code.Canceled);
    const deadline = timeoutMs !== undefined && timeoutMs > 0 ? Date.now() + timeoutMs : Number.POSITIVE_INFINITY;
    const call = this.#channel.createCall(pathOf(method), deadline, null, null, null);
    this.#open.add(call);
    return call;
  }

  /** Call when the status has come. */
  done(call: GrpcCall): void {
    this.#open.delete(call);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const call of this.#open) call.cancelWithStatus(status.CANCELLED, CLIENT_CLOSED);
    this.#channel.close();
  }
}

const paths = new WeakMap<DescMethod, string>();

/** `/package.Service/Method`. */
export function pathOf(method: DescMethod): string {
  let path = paths.get(method);
  if (path === undefined) {
    path = `/${method.parent.typeName}/${method.name}`;
    paths.set(method, path);
  }
  return path;
}

/** Throws a ConnectError: ResourceExhausted beyond 4 MiB, InvalidArgument when a field can't be encoded. */
export function encode<M extends DescMethod>(method: M, message: MessageShape<M["input"]>): Buffer {
  let bytes: Uint8Array;
  try {
    bytes = toBinary(method.input, message);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ConnectError(`the request is invalid: ${why}`, Code.InvalidArgument, undefined, undefined, cause);
  }
  if (bytes.byteLength > MAX_MESSAGE_BYTES) {
    throw new ConnectError(
      `the ${method.input.name} has ${bytes.byteLength} bytes, more than the ${MAX_MESSAGE_BYTES} of one message: ` +
        "send less at once",
      Code.ResourceExhausted,
    );
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** What an aborted signal means as an error; keeps the signal's reason as cause. */
export function abortError(signal: AbortSignal): ConnectError {
  const { reason } = signal;
  if (reason instanceof ConnectError) return reason;
  const timedOut = reason instanceof Error && reason.name === "TimeoutError";
  return new ConnectError(
    timedOut ? "the caller's signal timed out" : "the caller cancelled",
    timedOut ? Code.DeadlineExceeded : Code.Canceled,
    undefined,
    undefined,
    reason,
  );
}

const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Runs `onAbort` when the signal aborts; returns how to stop listening. The signal isn't aborted yet. However many calls
 * share a signal, it has one listener: above ten Node would warn of a leak.
 */
export function listen(signal: AbortSignal | undefined, onAbort: () => void): () => void {
  if (signal === undefined) return () => {};
  const known = listeners.get(signal);
  const mine = known ?? new Set();
  if (known === undefined) {
    listeners.set(signal, mine);
    signal.addEventListener("abort", abortAll);
  }
  // Each registration is its own, also of the same function.
  const entry = () => onAbort();
  mine.add(entry);
  return () => {
    if (!mine.delete(entry) || mine.size > 0 || listeners.get(signal) !== mine) return;
    listeners.delete(signal);
    signal.removeEventListener("abort", abortAll);
  };
}

function abortAll(this: AbortSignal): void {
  const all = listeners.get(this);
  listeners.delete(this);
  this.removeEventListener("abort", abortAll);
  for (const onAbort of all ?? []) onAbort();
}
