import type { IncomingHttpHeaders } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import type { ServerInterceptingCallInterface } from "@grpc/grpc-js";
import { cancelled, toConnectError } from "../errors/normalize-error.js";
import { ReverieError } from "../errors.js";
import { type Guard, type GuardedMethod, metadataBytes, type OpenCall } from "../rpc/guard.js";
import { MAX_DEADLINE_MS } from "../rpc/limits.js";
import { GrpcHandlerContext } from "./grpc-context.js";
import { decodeRequest, encodeResponse } from "./grpc-messages.js";
import { GrpcRequests } from "./grpc-requests.js";
import { type GrpcStatus, grpcStatus, libraryError } from "./grpc-status.js";

const ok: GrpcStatus = { code: 0, details: "OK", metadata: null as never };
const ignore = (): void => {};

/**
 * One call, between grpc-js's lowest call interface and a Connect handler. It is that interface's listener too, and
 * takes the place of grpc-js's own stream objects, which would read and buffer ahead.
 */
export class GrpcCall implements OpenCall {
  readonly expiresAt: number;
  readonly #base: ServerInterceptingCallInterface;
  readonly #method: GuardedMethod;
  readonly #guard: Guard;
  readonly #headers: IncomingHttpHeaders;
  readonly #startedAt = performance.now();
  readonly #context: GrpcHandlerContext;
  readonly #refusal: ReverieError | undefined;
  #requests: GrpcRequests<Message> | undefined;
  #request: Buffer | undefined;
  #responses: AsyncIterator<Message> | undefined;
  #releaseWrite: () => void = ignore;
  #ended = false;

  /** `refusal`: what the listener found wrong with the headers already. */
  constructor(
    base: ServerInterceptingCallInterface,
    method: GuardedMethod,
    guard: Guard,
    headers: IncomingHttpHeaders,
    refusal?: ReverieError,
  ) {
    this.#base = base;
    this.#method = method;
    this.#guard = guard;
    this.#headers = headers;
    this.#refusal = refusal;
    const deadlineMs = Number(base.getDeadline());
    const sweeps = deadlineMs === Number.POSITIVE_INFINITY && method.hasLongestDeadline;
    this.expiresAt = sweeps ? this.#startedAt + MAX_DEADLINE_MS : Number.POSITIVE_INFINITY;
    this.#context = new GrpcHandlerContext(method.desc, headers, sweeps ? Date.now() + MAX_DEADLINE_MS : deadlineMs);
  }

  start(): void {
    const base = this.#base;
    const sendStatus = base.sendStatus;
    // grpc-js ends calls by itself too (deadline, size, compression): those get our details here.
    base.sendStatus = (status) => {
      if (this.#ended) sendStatus.call(base, status);
      else this.fail(libraryError(status.code ?? 0, status.details ?? ""));
    };
    base.start(this);
  }

  onReceiveMetadata(): void {
    this.#guard.opened(this, this.#method);
    try {
      if (this.#refusal !== undefined) throw this.#refusal;
      this.#guard.admit(this.#method, this.#headers.authorization, metadataBytes(this.#headers));
    } catch (error) {
      this.fail(error);
      return;
    }
    if (!this.#method.readsStream) {
      this.#base.startRead();
      return;
    }
    this.#requests = new GrpcRequests(
      () => this.#base.startRead(),
      (bytes) => decodeRequest(this.#method.desc.input, bytes),
    );
    this.#invoke(this.#requests);
  }

  onReceiveMessage(bytes: Buffer): void {
    if (this.#requests !== undefined) {
      this.#requests.push(bytes);
      return;
    }
    if (this.#request !== undefined) {
      this.fail(new ReverieError("UNIMPLEMENTED", `${this.#method.desc.name} takes one message, not more.`));
      return;
    }
    this.#request = bytes;
    this.#base.startRead();
  }

  onReceiveHalfClose(): void {
    if (this.#requests !== undefined) {
      this.#requests.finish();
      return;
    }
    const bytes = this.#request;
    if (bytes === undefined) {
      this.fail(new ReverieError("UNIMPLEMENTED", `${this.#method.desc.name} takes one message; none came.`));
      return;
    }
    let request: Message;
    try {
      request = decodeRequest(this.#method.desc.input, bytes);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#invoke(request);
  }

  onCancel(): void {
    if (!this.#ended) this.#end(1, cancelled());
  }

  fail(thrown: unknown): void {
    if (this.#ended) return;
    const error = toConnectError(thrown, this.#guard.reportBug);
    this.#end(error.code, thrown instanceof ReverieError ? thrown : error);
    const status = grpcStatus(error);
    const trailer = this.#context.sentTrailer();
    if (trailer !== undefined) status.metadata.merge(trailer);
    this.#base.sendStatus(status);
  }

  #invoke(input: unknown): void {
    try {
      const output = this.#method.handler(input, this.#context);
      if (this.#method.writesStream) void this.#sendAll(output as AsyncIterable<Message>);
      else if (output instanceof Promise) void this.#sendLater(output as Promise<Message>);
      else this.#sendOne(output as Message);
    } catch (error) {
      this.fail(error);
    }
  }

  async #sendLater(output: Promise<Message>): Promise<void> {
    try {
      this.#sendOne(await output);
    } catch (error) {
      this.fail(error);
    }
  }

  #sendOne(message: Message): void {
    if (this.#ended) return;
    const bytes = encodeResponse(this.#method.desc.output, message);
    this.#sendHeader();
    this.#base.sendMessage(bytes, ignore);
    this.#succeed();
  }

  async #sendAll(messages: AsyncIterable<Message>): Promise<void> {
    try {
      const responses = messages[Symbol.asyncIterator]();
      this.#responses = responses;
      for (let first = true; ; first = false) {
        const result = await responses.next();
        if (this.#ended) return;
        if (first) this.#sendHeader();
        if (result.done) break;
        await this.#write(encodeResponse(this.#method.desc.output, result.value));
        if (this.#ended) return;
      }
      this.#succeed();
    } catch (error) {
      this.fail(error);
    }
  }

  // Resolves when the message has left for the socket, or the call has ended: a stalled reader holds one message.
  #write(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#releaseWrite = resolve;
      this.#base.sendMessage(bytes, resolve);
    });
  }

  #sendHeader(): void {
    const header = this.#context.sentHeader();
    if (header !== undefined) this.#base.sendMetadata(header);
  }

  #succeed(): void {
    const trailer = this.#context.sentTrailer();
    this.#end(0, undefined);
    this.#base.sendStatus(trailer === undefined ? ok : { ...ok, metadata: trailer });
  }

  #end(code: number, reason: unknown): void {
    this.#ended = true;
    this.#guard.closed(this, this.#method, code, this.#startedAt, "grpc");
    this.#context.abort(reason);
    if (!this.#method.isStream) return;
    this.#requests?.abort(reason ?? cancelled());
    this.#releaseWrite();
    const responses = this.#responses;
    if (code !== 0 && responses?.return !== undefined) this.#close(responses.return());
  }

  #close(closed: Promise<unknown>): void {
    closed.catch((error: unknown) => {
      this.#guard.logger.warn({ err: error, method: this.#method.path }, "a handler's cleanup failed");
    });
  }
}
