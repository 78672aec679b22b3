import type { Client } from "@connectrpc/connect";
import type { InfoService } from "@reverie/proto/info";
import type { MemoryService, OwnerService, TrashService } from "@reverie/proto/memory";
import { ReverieError } from "./errors.js";
import { MAX_TIMEOUT_MS } from "./limits.js";
import type { RetryOptions } from "./retry.js";

/** What the high-level functions work with. */
export interface Deps {
  readonly memory: Client<typeof MemoryService>;
  readonly owners: Client<typeof OwnerService>;
  readonly trash: Client<typeof TrashService>;
  readonly info: Client<typeof InfoService>;
  /** `host:port`, for messages. */
  readonly target: string;
  /** The deadline of calls that answer once, milliseconds; 0 means none. */
  readonly timeoutMs: number;
  readonly retry: RetryOptions;
}

export interface CallSettings {
  /** Ends the call; it fails with CANCELLED. */
  readonly signal?: AbortSignal | undefined;
  /** The deadline, milliseconds; 0 means none. */
  readonly timeoutMs?: number | undefined;
}

/** Only what is set: a stub reads an absent timeout as its default. */
export function callOptions({ signal, timeoutMs }: CallSettings = {}): { signal?: AbortSignal; timeoutMs?: number } {
  return { ...(signal && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

export function streamIncomplete(method: string, target: string): ReverieError {
  return new ReverieError(
    "UNAVAILABLE",
    "STREAM_INCOMPLETE",
    `${method} at ${target} ended without its summary: what came is not everything. Call it again.`,
  );
}

/**
 * Reads a whole stream that answers one question, and once more from the start when the connection breaks in the middle
 * of it. `open` gets what is left of the deadline, milliseconds; `take` gets a fresh collection each time.
 */
export async function readWhole<M, C>(
  timeoutMs: number,
  open: (timeoutMs: number) => AsyncIterable<M>,
  fresh: () => C,
  take: (collected: C, message: M) => void,
  check: (collected: C) => void,
): Promise<C> {
  const end = timeoutMs > 0 ? performance.now() + timeoutMs : Number.POSITIVE_INFINITY;
  for (let again = true; ; again = false) {
    const collected = fresh();
    let started = false;
    try {
      const left = Math.max(1, Math.ceil(end - performance.now()));
      for await (const message of open(left > MAX_TIMEOUT_MS ? 0 : left)) {
        started = true;
        take(collected, message);
      }
      check(collected);
      return collected;
    } catch (error) {
      // A failure before the first message was tried again by the stub already.
      const broke = started && error instanceof ReverieError && error.code === "UNAVAILABLE";
      if (!again || !broke || performance.now() >= end) throw error;
    }
  }
}
