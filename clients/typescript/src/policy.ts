import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { StreamResponse, Transport } from "@connectrpc/connect";
import { DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS } from "./limits.js";
import type { RetryOptions, RetrySafety } from "./retry.js";
import { backoffMs, mayRetry, retrySafety, sleep } from "./retry.js";
import type { CallFacts } from "./to-reverie-error.js";
import { toReverieError } from "./to-reverie-error.js";
import { abortError } from "./transport/call.js";

export interface PolicyOptions {
  /** `host:port`, for messages. */
  readonly target: string;
  /** The deadline of unary calls that set none, milliseconds, retries included. Default 10,000; 0 means none. */
  readonly timeoutMs?: number;
  readonly retry?: RetryOptions;
}

/** Gives a transport deadlines, retries where they are safe, and ReverieErrors in place of ConnectErrors. */
export function withPolicy(transport: Transport, options: PolicyOptions): Transport {
  const { target, timeoutMs: defaultMs = DEFAULT_TIMEOUT_MS, retry = {} } = options;
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const facts = { target, method: method.name, timeoutMs: deadlineOf(timeoutMs ?? defaultMs) };
      const message = create(method.input, input);
      return retrying(facts, { safety: retrySafety(method, message), retry, signal }, (ms) =>
        transport.unary(method, signal, ms, header, message, contextValues),
      );
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const facts = { target, method: method.name, timeoutMs: deadlineOf(timeoutMs ?? 0) };
      if (method.methodKind !== "server_streaming") {
        try {
          const response = await transport.stream(method, signal, facts.timeoutMs, header, input, contextValues);
          return withMessages(response, new Mapped(response.message[Symbol.asyncIterator](), facts));
        } catch (error) {
          throw toReverieError(error, facts);
        }
      }
      const message = create(method.input, await only(input));
      return retrying(facts, { safety: retrySafety(method, message), retry, signal }, async (ms) => {
        const response = await transport.stream(method, signal, ms, header, once(message), contextValues);
        // Waiting for the first message lets a stream that fails before it be tried again.
        const messages = response.message[Symbol.asyncIterator]();
        return withMessages(response, new Mapped(messages, facts, await messages.next()));
      });
    },
  };
}

export interface Retrying {
  readonly safety: RetrySafety;
  readonly retry: RetryOptions;
  readonly signal: AbortSignal | undefined;
}

/** Runs attempts until one succeeds, may not be repeated, or time is up. Each gets what is left of the deadline. */
export async function retrying<T>(
  facts: CallFacts,
  { safety, retry, signal }: Retrying,
  attempt: (timeoutMs: number | undefined) => Promise<T>,
): Promise<T> {
  const { timeoutMs } = facts;
  const start = performance.now();
  let left = timeoutMs;
  for (let n = 1; ; n++) {
    try {
      return await attempt(left);
    } catch (thrown) {
      const error = toReverieError(thrown, facts);
      if (n >= (retry.maxAttempts ?? 6) || !mayRetry(error, safety)) throw error;
      const wait = backoffMs(n, retry, error.retryAfterMs);
      if (timeoutMs !== undefined && performance.now() - start + wait >= timeoutMs) throw error;
      await sleep(wait, signal);
      if (signal?.aborted) throw toReverieError(abortError(signal), facts);
      left = timeoutMs === undefined ? undefined : Math.max(1, Math.ceil(timeoutMs - (performance.now() - start)));
    }
  }
}

function deadlineOf(timeoutMs: number): number | undefined {
  return timeoutMs > 0 ? Math.min(timeoutMs, MAX_TIMEOUT_MS) : undefined;
}

/** Response messages with ReverieErrors; returning early cancels the call. */
class Mapped<T> implements AsyncIterableIterator<T> {
  #first: IteratorResult<T> | undefined;

  constructor(
    readonly source: AsyncIterator<T>,
    readonly facts: CallFacts,
    first?: IteratorResult<T>,
  ) {
    this.#first = first;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T>> {
    const first = this.#first;
    if (first) {
      this.#first = undefined;
      return first;
    }
    try {
      return await this.source.next();
    } catch (error) {
      throw toReverieError(error, this.facts);
    }
  }

  async return(): Promise<IteratorResult<T>> {
    this.#first = undefined;
    await this.source.return?.();
    return { done: true, value: undefined };
  }
}

function withMessages<I extends DescMessage, O extends DescMessage>(
  response: StreamResponse<I, O>,
  message: AsyncIterable<MessageShape<O>>,
): StreamResponse<I, O> {
  const { service, method, header, trailer } = response;
  return { stream: true, service, method, header, trailer, message };
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

async function only<I extends DescMessage>(input: AsyncIterable<MessageInitShape<I>>): Promise<MessageInitShape<I>> {
  for await (const message of input) return message;
  throw new TypeError("a server-streaming call needs one request message");
}
