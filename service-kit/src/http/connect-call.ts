import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { cancelled, deadlineExceeded, toConnectError } from "../errors/normalize-error.js";
import { reasonCode } from "../errors/reason-codes.js";
import type { ReverieError } from "../errors.js";
import type { Guard, GuardedMethod, OpenCall } from "../rpc/guard.js";

/** One call on the Connect listener, from admission to its end. */
export class ConnectCall implements OpenCall {
  readonly expiresAt = Number.POSITIVE_INFINITY;
  /** For the handler: its signal ends on drain too. */
  readonly context: HandlerContext;
  readonly #guard: Guard;
  readonly #method: GuardedMethod;
  readonly #startedAt = performance.now();
  readonly #controller = new AbortController();
  readonly #signal: AbortSignal;
  #responses: AsyncIterator<unknown> | undefined;
  readonly #rejects = new Set<(reason: unknown) => void>();
  #failure: ReverieError | undefined;
  #ended = false;

  /** Throws when the call must not reach its handler; it is counted all the same. */
  constructor(guard: Guard, method: GuardedMethod, context: HandlerContext) {
    this.#guard = guard;
    this.#method = method;
    this.#signal = context.signal;
    this.context = { ...context, signal: this.#controller.signal };
    guard.opened(this, method);
    try {
      const headers = context.requestHeader;
      let bytes = 0;
      headers.forEach((value, name) => {
        bytes += name.length + value.length;
      });
      guard.admit(method, headers.get("authorization"), bytes);
    } catch (error) {
      throw this.failed(error);
    }
    if (this.#signal.aborted) this.#onSignal();
    else this.#signal.addEventListener("abort", this.#onSignal);
  }

  /** Settles with the step, or rejects when the call ends before it does. */
  race<T>(step: Promise<T>): Promise<T> {
    if (this.#failure !== undefined) {
      step.catch(() => {});
      return Promise.reject(this.#failure);
    }
    return new Promise((resolve, reject) => {
      this.#rejects.add(reject);
      step.then(resolve, reject).finally(() => this.#rejects.delete(reject));
    });
  }

  /** The handler's output is closed as soon as the call ends, even if nobody pulls it any more. */
  responds(responses: AsyncIterator<unknown>): void {
    this.#responses = responses;
  }

  succeeded(): void {
    this.#end(0, undefined);
  }

  /** The error to throw to Connect. */
  failed(thrown: unknown): ConnectError {
    const error = toConnectError(this.#failure ?? thrown, this.#guard.reportBug);
    this.#end(error.code, error);
    return error;
  }

  /** The caller stopped reading. */
  abandoned(): void {
    this.#end(Code.Canceled, cancelled());
  }

  fail(error: ReverieError): void {
    if (this.#ended) return;
    this.#failure = error;
    this.#end(reasonCode[error.reason], error);
    for (const reject of this.#rejects) reject(error);
  }

  readonly #onSignal = (): void => {
    const reason: unknown = this.#signal.reason;
    const late = reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
    this.fail(late ? deadlineExceeded() : cancelled());
  };

  #end(code: number, reason: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#signal.removeEventListener("abort", this.#onSignal);
    this.#guard.closed(this, this.#method, code, this.#startedAt, this.context.protocolName);
    this.#controller.abort(reason);
    if (code !== 0) this.#closeResponses();
  }

  #closeResponses(): void {
    const responses = this.#responses;
    this.#responses = undefined;
    responses?.return?.().catch((error: unknown) => {
      this.#guard.logger.warn({ err: error, method: this.#method.path }, "a handler's cleanup failed");
    });
  }
}
