import type { DescMessage, DescMethodStreaming, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary } from "@bufbuild/protobuf";
import type { StreamResponse } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Metadata, StatusObject } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import type { CallSlot, GrpcCall } from "./call.js";
import { abortError, encode, listen } from "./call.js";
import { toHeaders } from "./metadata.js";
import { errorFromStatus } from "./status.js";
import { undecodable } from "./unary.js";

/**
 * Starts a streaming call. Resolves with the response headers, or rejects with a ConnectError when the call fails
 * before them. The response's iterator cancels the call when it is returned early, as `break` does.
 */
export function startStream<I extends DescMessage, O extends DescMessage>(
  slot: CallSlot,
  method: DescMethodStreaming<I, O>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  metadata: Metadata,
  input: AsyncIterable<MessageInitShape<I>>,
): Promise<StreamResponse<I, O>> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) throw abortError(signal);
    const call = slot.create(method, timeoutMs);
    const reader = new Reader(method.output, call);
    const pump = new Pump(method, call, input, (error) => reader.fail(error));
    const unlisten = listen(signal, () => reader.fail(abortError(signal as AbortSignal)));
    let opened = false;
    const open = (header: Headers) => {
      opened = true;
      resolve({ stream: true, service: method.parent, method, header, trailer: reader.trailer, message: reader });
    };
    call.start(metadata, {
      onReceiveMetadata: (received) => open(toHeaders(received)),
      onReceiveMessage: (body: Buffer) => reader.push(body),
      onReceiveStatus(end: StatusObject) {
        unlisten();
        slot.done(call);
        const error = reader.end(end);
        pump.stop();
        if (opened) return;
        if (error === undefined) open(new Headers());
        else reject(error);
      },
    });
    void pump.run();
  });
}

/** Hands out response messages one by one and asks the call for the next only when somebody waits for it. */
class Reader<O extends DescMessage> implements AsyncIterableIterator<MessageShape<O>> {
  readonly trailer = new Headers();
  #waiting: { resolve(r: IteratorResult<MessageShape<O>>): void; reject(e: unknown): void } | undefined;
  #failure: ConnectError | undefined;
  #ended = false;

  constructor(
    readonly schema: O,
    readonly call: GrpcCall,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<MessageShape<O>>> {
    if (this.#ended) return this.#last();
    if (this.#waiting) return Promise.reject(new ConnectError("a read is under way already", Code.FailedPrecondition));
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.call.startRead();
    });
  }

  return(): Promise<IteratorResult<MessageShape<O>>> {
    if (!this.#ended) {
      this.fail(new ConnectError("the caller stopped reading", Code.Canceled));
      this.#failure = undefined;
    }
    return Promise.resolve({ done: true, value: undefined });
  }

  push(body: Buffer): void {
    if (this.#failure) return;
    let value: MessageShape<O>;
    try {
      value = fromBinary(this.schema, body);
    } catch (cause) {
      this.fail(undecodable(this.schema, cause));
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({ done: false, value });
  }

  /** Cancels the call; readers get this error. */
  fail(error: ConnectError): void {
    if (this.#ended) return;
    this.#failure ??= error;
    this.call.cancelWithStatus(status.CANCELLED, error.rawMessage);
  }

  /** The call is over. Returns its error. */
  end(end: StatusObject): ConnectError | undefined {
    this.#ended = true;
    if (this.#failure === undefined && end.code !== status.OK) this.#failure = errorFromStatus(end);
    toHeaders(end.metadata).forEach((value, key) => {
      this.trailer.append(key, value);
    });
    const error = this.#failure;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) this.#last().then(waiting.resolve, waiting.reject);
    return error;
  }

  /** An error is thrown once; after that the iterator is done, as generators do it. */
  #last(): Promise<IteratorResult<MessageShape<O>>> {
    const error = this.#failure;
    this.#failure = undefined;
    return error ? Promise.reject(error) : Promise.resolve({ done: true, value: undefined });
  }
}

/** Sends request messages; pulls the next when the one before was written. */
class Pump<I extends DescMessage, O extends DescMessage> {
  #stopped = false;
  #wake: (() => void) | undefined;

  constructor(
    readonly method: DescMethodStreaming<I, O>,
    readonly call: GrpcCall,
    readonly input: AsyncIterable<MessageInitShape<I>>,
    readonly onError: (error: ConnectError) => void,
  ) {}

  async run(): Promise<void> {
    try {
      for await (const item of this.input) {
        if (this.#stopped) return;
        await this.#write(encode(this.method, create(this.method.input, item)));
        if (this.#stopped) return;
      }
      this.call.halfClose();
    } catch (cause) {
      if (this.#stopped) return;
      if (cause instanceof ConnectError) return this.onError(cause);
      const why = cause instanceof Error ? cause.message : String(cause);
      this.onError(new ConnectError(`the request stream failed: ${why}`, Code.Canceled, undefined, undefined, cause));
    }
  }

  /** The call is over: nothing more is sent. An input that is being awaited is let go when it answers. */
  stop(): void {
    this.#stopped = true;
    this.#wake?.();
  }

  #write(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      // grpc-js drops the callback of a call that ended: stop() stands in for it.
      this.#wake = resolve;
      this.call.sendMessageWithContext({ callback: () => resolve() }, bytes);
    });
  }
}
