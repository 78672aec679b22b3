/** What is read and thrown away of a request that was answered before its end, bytes and milliseconds. */
const MAX_DRAIN_BYTES = 32 * 1024 * 1024;
const MAX_DRAIN_MS = 10_000;

/**
 * A request's body that is read on when its reader gives up: else the rest stands in the connection, and the next
 * request on it (HTTP/1.1) or the peer's memory (HTTP/2) waits for ever. Beyond the limits the peer is cut off.
 */
export function drainedBody(body: AsyncIterable<Uint8Array>, cutOff: () => void): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = body[Symbol.asyncIterator]();
      let over = false;
      const giveUp = (): void => {
        if (over) return;
        over = true;
        // A peer that went away has nothing left to read.
        drain(chunks, cutOff).catch(() => {});
      };
      return {
        next: () => chunks.next(),
        return: async () => {
          giveUp();
          return { done: true, value: undefined };
        },
        throw: async (error: unknown) => {
          giveUp();
          throw error;
        },
      };
    },
  };
}

async function drain(chunks: AsyncIterator<Uint8Array>, cutOff: () => void): Promise<void> {
  const timer = setTimeout(cutOff, MAX_DRAIN_MS).unref();
  try {
    for (let bytes = 0; bytes < MAX_DRAIN_BYTES; ) {
      const next = await chunks.next();
      if (next.done === true) return;
      bytes += next.value.length;
    }
    cutOff();
  } finally {
    clearTimeout(timer);
  }
}
