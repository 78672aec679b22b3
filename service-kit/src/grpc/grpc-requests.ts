type Waiting<T> = { resolve(result: IteratorResult<T, undefined>): void; reject(reason: unknown): void };

/** The messages of a client stream. One is read from the wire each time the handler asks for one. */
export class GrpcRequests<T> implements AsyncIterableIterator<T, undefined> {
  readonly #read: () => void;
  readonly #decode: (bytes: Buffer) => T;
  readonly #waiting: Waiting<T>[] = [];
  #finished = false;
  #failure: { readonly error: unknown } | undefined;

  /** `read` asks for one more message: `push`, `finish` or `abort` follows. */
  constructor(read: () => void, decode: (bytes: Buffer) => T) {
    this.#read = read;
    this.#decode = decode;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    if (this.#finished) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (this.#waiting.length === 1) this.#read();
    });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.finish();
    return Promise.resolve({ done: true, value: undefined });
  }

  push(bytes: Buffer): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) return;
    try {
      waiting.resolve({ done: false, value: this.#decode(bytes) });
    } catch (error) {
      waiting.reject(error);
      this.abort(error);
      return;
    }
    if (this.#waiting.length > 0) this.#read();
  }

  finish(): void {
    this.#finished = true;
    for (const waiting of this.#waiting.splice(0)) waiting.resolve({ done: true, value: undefined });
  }

  abort(error: unknown): void {
    if (this.#finished || this.#failure !== undefined) return;
    this.#failure = { error };
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}
