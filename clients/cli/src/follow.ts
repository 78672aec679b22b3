import { setTimeout as sleep } from "node:timers/promises";
import { ReverieError, type toProtoOwner } from "@reverie/client";
import type { WatchChange, WatchRequest } from "@reverie/proto/memory";
import type { Session } from "./runtime.js";

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;

export interface FollowOptions {
  readonly owner: ReturnType<typeof toProtoOwner>;
  readonly kinds: WatchRequest["kinds"];
  /** undefined: from now on. */
  readonly afterSeq: bigint | undefined;
  readonly onReconnect: (error: ReverieError) => void;
}

/**
 * An owner's changes as the service sends them, meta with every digit, until the signal aborts. Once it was connected,
 * it goes on behind the last cursor after UNAVAILABLE, for as long as it takes.
 */
export async function* follow(
  { client, signal }: Session,
  { owner, kinds, afterSeq, onReconnect }: FollowOptions,
): AsyncGenerator<WatchChange[], void, undefined> {
  let cursor = afterSeq;
  let connected = false;
  for (let failures = 0; ; failures++) {
    let ended: ReverieError;
    try {
      const request = { owner, kinds, ...(cursor !== undefined && { afterSeq: cursor }) };
      for await (const { event } of client.memory.watch(request, { signal })) {
        connected = true;
        failures = 0;
        if (event.case === "batch") {
          yield event.value.changes;
          cursor = event.value.cursor;
        } else if (event.case === "cursor") cursor = event.value.seq;
      }
      ended = new ReverieError("UNAVAILABLE", "STREAM_INCOMPLETE", "The service ended the watch.");
      if (!connected) throw ended;
    } catch (error) {
      if (!connected || !(error instanceof ReverieError) || error.code !== "UNAVAILABLE") throw error;
      ended = error;
    }
    onReconnect(ended);
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
    await sleep(Math.max(wait, ended.retryAfterMs ?? 0), undefined, { signal });
  }
}
