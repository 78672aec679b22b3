import type { Kind, WatchResponse } from "@reverie/proto/memory";
import { onTestFinished } from "vitest";
import type { Api, OwnerInit } from "./contract.js";

/** One message, in short: `+id` for what is new or changed, `-id` for what is gone. */
export interface Seen {
  /** undefined: a cursor alone. */
  readonly changes: readonly string[] | undefined;
  readonly cursor: bigint;
  readonly message: WatchResponse;
}

export interface Watcher {
  /** The next message. Rejects when the watch fails. */
  next(): Promise<Seen>;
  /** Changes until one of `last` has come, in their order, whatever messages they come in. */
  until(last: string): Promise<string[]>;
  /** Ends the watch from this side. */
  cancel(): void;
}

/** Ends with the test at the latest. */
export function watch(
  api: Api,
  owner: OwnerInit,
  request: { readonly kinds?: Kind[]; readonly afterSeq?: bigint } = {},
  timeoutMs?: number,
): Watcher {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const options = { signal: controller.signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
  const messages = api.memory.watch({ owner, ...request }, options)[Symbol.asyncIterator]();
  const next = async (): Promise<Seen> => {
    const { done, value: message } = await messages.next();
    if (done === true) throw new Error("the watch ended");
    return seen(message);
  };
  return {
    next,
    async until(last) {
      const all: string[] = [];
      while (!all.includes(last)) all.push(...((await next()).changes ?? []));
      return all;
    },
    cancel: () => controller.abort(),
  };
}

function seen(message: WatchResponse): Seen {
  const { event } = message;
  if (event.case === "cursor") return { changes: undefined, cursor: event.value.seq, message };
  if (event.case !== "batch") throw new Error("an event holds neither batch nor cursor");
  const changes = event.value.changes.map(({ change }) => {
    if (change.case === "upserted") return `+${change.value.id}`;
    if (change.case === "deleted") return `-${change.value.id}`;
    throw new Error("a change holds neither entry nor deletion");
  });
  return { changes, cursor: event.value.cursor, message };
}
