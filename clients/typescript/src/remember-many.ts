import { Buffer } from "node:buffer";
import { ErrorReason } from "@reverie/proto/info";
import type { RefusedItem as ProtoRefused } from "@reverie/proto/memory";
import type { CallSettings, Deps } from "./deps.js";
import { callOptions } from "./deps.js";
import type { NewEntryInit, NewMemory } from "./entry.js";
import { toNewEntry } from "./entry.js";
import { BATCH_BYTES } from "./limits.js";
import type { Owner } from "./owner.js";
import { toProtoOwner } from "./owner.js";
import { retrying } from "./policy.js";

export interface RefusedItem {
  /** Its 0-based position among all items; of an import, its line. */
  readonly index: number;
  /** "" if it had none. */
  readonly id: string;
  /** A name of the contract's `ErrorReason`. */
  readonly reason: string;
  readonly message: string;
}

export interface RememberManyResult {
  readonly stored: number;
  /** Stored by an earlier call, earlier in this one, or by a first try of it whose answer was lost. */
  readonly alreadyStored: number;
  readonly received: number;
  /** At most 1,000. */
  readonly refused: readonly RefusedItem[];
  /** The service stopped after 1,000 refusals: items from `received` on were not looked at. */
  readonly stopped: boolean;
  readonly droppedByCaps: number;
  /** 0 when nothing was stored. */
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export function toRefused({ index, id, reason, message }: ProtoRefused): RefusedItem {
  return { index: Number(index), id, reason: ErrorReason[reason] ?? "UNKNOWN", message };
}

/**
 * Stores many memories in one call. An array is checked as a whole before anything is sent, and sent again after
 * UNAVAILABLE; another iterable is read once, as fast as the server takes it, and a bad item ends the call with those
 * before it stored. No deadline unless asked for.
 */
export async function rememberMany(
  deps: Deps,
  owner: Owner | string,
  items: readonly NewMemory[] | Iterable<NewMemory> | AsyncIterable<NewMemory>,
  settings: CallSettings = {},
): Promise<RememberManyResult> {
  const to = toProtoOwner(owner);
  const ready = Array.isArray(items) ? items.map(toNewEntry) : undefined;
  const facts = { target: deps.target, method: "RememberMany", timeoutMs: settings.timeoutMs || undefined };
  const safety = ready ? "always" : "never";
  const reply = await retrying(facts, { safety, retry: deps.retry, signal: settings.signal }, (timeoutMs) =>
    deps.memory.rememberMany(
      messages(to, ready ?? converted(items)),
      callOptions({ signal: settings.signal, timeoutMs: timeoutMs ?? 0 }),
    ),
  );
  return {
    stored: Number(reply.stored),
    alreadyStored: Number(reply.alreadyStored),
    received: Number(reply.received),
    refused: reply.refused.map(toRefused),
    stopped: reply.stopped,
    droppedByCaps: Number(reply.droppedByCaps),
    firstSeq: Number(reply.firstSeq),
    lastSeq: Number(reply.lastSeq),
  };
}

async function* converted(items: Iterable<NewMemory> | AsyncIterable<NewMemory>): AsyncGenerator<NewEntryInit> {
  for await (const item of items) yield toNewEntry(item);
}

async function* messages(
  owner: ReturnType<typeof toProtoOwner>,
  items: Iterable<NewEntryInit> | AsyncIterable<NewEntryInit>,
) {
  let first = true;
  let entries: NewEntryInit[] = [];
  let bytes = 0;
  const take = () => {
    const message = { ...(first && { owner }), entries };
    first = false;
    entries = [];
    bytes = 0;
    return message;
  };
  for await (const item of items) {
    // 48 covers the field tags, lengths, kind and time of an entry.
    const size = Buffer.byteLength(item.text) + Buffer.byteLength(item.metaJson) + Buffer.byteLength(item.id) + 48;
    if (entries.length > 0 && bytes + size > BATCH_BYTES) yield take();
    entries.push(item);
    bytes += size;
  }
  if (first || entries.length > 0) yield take();
}
