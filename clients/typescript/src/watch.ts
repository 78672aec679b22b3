import type { WatchResponse } from "@reverie/proto/memory";
import type { CallSettings, Deps } from "./deps.js";
import { callOptions } from "./deps.js";
import type { MemoryEntry } from "./entry.js";
import { toMemoryEntry, toSeq } from "./entry.js";
import { ReverieError } from "./errors.js";
import type { MemoryKind } from "./kinds.js";
import { fromProtoKind, toProtoKind } from "./kinds.js";
import type { Owner } from "./owner.js";
import { toProtoOwner } from "./owner.js";
import { backoffMs, sleep } from "./retry.js";
import { toReverieError } from "./to-reverie-error.js";
import { abortError } from "./transport/call.js";

export interface WatchOptions extends Pick<CallSettings, "signal"> {
  /** Only these; default and empty: all that the owner's config allows. */
  readonly kinds?: readonly MemoryKind[] | undefined;
  /** Left out: from the next change on. 0: all live entries first. Else after this cursor of an earlier update. */
  readonly afterSeq?: number | undefined;
  /** Told before each new connection, with what ended the one before. */
  readonly onReconnect?: ((error: ReverieError) => void) | undefined;
}

export type WatchChange =
  | { readonly type: "upserted"; readonly entry: MemoryEntry; readonly seq: number }
  | { readonly type: "deleted"; readonly id: string; readonly kind: MemoryKind; readonly seq: number };

export interface WatchUpdate {
  /** In seq order; empty when the server only says that it is still there, every 30 s of silence. */
  readonly changes: readonly WatchChange[];
  /** Give it as `afterSeq` to go on behind this update. */
  readonly cursor: number;
}

/**
 * Follows an owner's changes until the loop is left or the signal aborts (which throws CANCELLED). After UNAVAILABLE it
 * goes on from the last cursor by itself, for as long as it takes; only the very first connection gives up after the
 * client's retries. A change may come twice around a reconnect, none is lost.
 *
 * Throws WATCH_CURSOR_EXPIRED when the server can no longer replay what followed the cursor: list the owner again, then
 * watch anew. `metadata.floor` has the oldest cursor that would work.
 */
export async function* watch(
  deps: Deps,
  owner: Owner | string,
  { kinds = [], afterSeq, signal, onReconnect }: WatchOptions = {},
): AsyncGenerator<WatchUpdate, void, undefined> {
  const request = { owner: toProtoOwner(owner), kinds: kinds.map(toProtoKind) };
  let cursor = afterSeq === undefined ? undefined : toSeq(afterSeq, "afterSeq");
  let connected = false;
  for (let failures = 0; ; ) {
    let ended: ReverieError;
    try {
      const from = cursor === undefined ? {} : { afterSeq: cursor };
      for await (const message of deps.memory.watch({ ...request, ...from }, callOptions({ signal }))) {
        const update = toUpdate(message);
        if (update === undefined) continue;
        connected = true;
        failures = 0;
        yield update;
        cursor = BigInt(update.cursor);
      }
      ended = new ReverieError(
        "UNAVAILABLE",
        "STREAM_INCOMPLETE",
        `${deps.target} ended the Watch by itself. Check that it is a memory-service.`,
      );
      if (!connected) throw ended;
    } catch (error) {
      if (!connected || !(error instanceof ReverieError) || error.code !== "UNAVAILABLE") throw error;
      ended = error;
    }
    onReconnect?.(ended);
    await sleep(backoffMs(++failures, deps.retry, ended.retryAfterMs), signal);
    if (signal?.aborted) throw toReverieError(abortError(signal), { target: deps.target, method: "Watch" });
  }
}

function toUpdate({ event }: WatchResponse): WatchUpdate | undefined {
  if (event.case === "cursor") return { changes: [], cursor: Number(event.value.seq) };
  if (event.case !== "batch") return undefined;
  const changes: WatchChange[] = [];
  for (const { change } of event.value.changes) {
    if (change.case === "upserted") {
      changes.push({ type: "upserted", entry: toMemoryEntry(change.value), seq: Number(change.value.seq) });
    } else if (change.case === "deleted") {
      const { id, kind, seq } = change.value;
      changes.push({ type: "deleted", id, kind: fromProtoKind(kind), seq: Number(seq) });
    }
  }
  return { changes, cursor: Number(event.value.cursor) };
}
