import type { DescMethod, MessageShape } from "@bufbuild/protobuf";
import { isMessage } from "@bufbuild/protobuf";
import { RememberRequestSchema } from "@reverie/proto/memory";
import type { ReverieError } from "./errors.js";
import { listen } from "./transport/call.js";

export interface RetryOptions {
  /** Attempts in all, the first included. Default 6; 1 means no retries. */
  readonly maxAttempts?: number;
  /** Wait before the second attempt, milliseconds; it doubles each time and is drawn between half and all of it. Default 100. */
  readonly initialBackoffMs?: number;
  /** The longest such wait, milliseconds. Default 2,000. A longer one that the server asks for is kept. */
  readonly maxBackoffMs?: number;
}

/**
 * When a call may be sent again after UNAVAILABLE:
 * - `always`: doing it twice is the same as once.
 * - `unsent`: only if the first attempt surely did nothing: no connection was made, or the server refused the work.
 * - `never`: the request can't be sent again.
 */
export type RetrySafety = "always" | "unsent" | "never";

const SAFETY: Readonly<Record<string, RetrySafety>> = {
  // Reads. A stream is tried again only until its first message has come.
  GetServerInfo: "always",
  GetEntry: "always",
  ListEntries: "always",
  Recall: "always",
  Watch: "always",
  ExportOwner: "always",
  Describe: "always",
  ListOwners: "always",
  ListTrash: "always",
  // The id that goes with the entry tells the server that it is the same one, also after a Forget. Without: see below.
  Remember: "always",
  // An id names one memory for good, unless a caller uses one of its own again within the call's deadline. A repeat may
  // answer `found: false` where the lost answer would have said true.
  Forget: "always",
  // It sets absolute values. A repeat may set them over those of a writer who came in between, as any later patch does.
  PatchMeta: "always",
  // They set an absolute state. A repeat answers `changed: false` or `found: false`.
  Attach: "always",
  Detach: "always",
  // It deletes what has expired, once.
  SweepTrash: "always",
  // A repeat would erase, or move away, what was stored after the first one took effect.
  Clear: "unsent",
  SoftDelete: "unsent",
  // A repeat would fail although the first one did it: the ref is gone then, and the owner live.
  Restore: "unsent",
  HardDelete: "unsent",
  // Their input is a stream that can be read once. `rememberMany` with an array sends it again itself.
  RememberMany: "never",
  ImportOwner: "never",
};

/** How safe it is to send this request again. Methods that this client doesn't know are `unsent`. */
export function retrySafety<M extends DescMethod>(method: M, message?: MessageShape<M["input"]>): RetrySafety {
  if (message !== undefined && isMessage(message, RememberRequestSchema) && !message.entry?.id) return "unsent";
  return SAFETY[method.name] ?? "unsent";
}

const NOTHING_DONE: ReadonlySet<string> = new Set(["CONNECTION_FAILED", "DRAINING", "OVERLOADED"]);

/** Only UNAVAILABLE is tried again: other failures would come again, or the deadline is over. */
export function mayRetry(error: ReverieError, safety: RetrySafety): boolean {
  if (error.code !== "UNAVAILABLE" || safety === "never") return false;
  return safety === "always" || NOTHING_DONE.has(error.reason);
}

/** Milliseconds to wait after the `attempt`-th attempt failed (1-based). */
export function backoffMs(attempt: number, options: RetryOptions, retryAfterMs = 0): number {
  const { initialBackoffMs = 100, maxBackoffMs = 2_000 } = options;
  const ceiling = Math.min(maxBackoffMs, initialBackoffMs * 2 ** Math.min(attempt - 1, 20));
  return Math.max(retryAfterMs, ceiling * (0.5 + Math.random() / 2));
}

/** Resolves after `ms`, or at once when the signal aborts: look at it afterwards. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      unlisten();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const unlisten = listen(signal, done);
  });
}
