import { ReverieError } from "@reverie/service-kit/errors";
import type { Kind, WatchChange, WatchQuery, WatchStep } from "../store.js";
import { firstIndex } from "./first-index.js";
import type { Log } from "./log.js";
import type { LogState } from "./log-state.js";
import type { Owner } from "./owner.js";
import { readEntry } from "./stored-entry.js";

/** What a step holds before it is sent. */
const STEP_BYTES = 64 * 1024;

/** What a watcher knows. */
export interface WatchCursor {
  /** Everything up to here was sent; -1 before a replay of all. */
  seq: number;
  /** Something was sent or known: what can't be replayed any more is missed. */
  began: boolean;
  /** The floor when a replay of all began: it holds what the floor stands for. */
  base: number;
  /** The owner's seq when a replay of all began: what was deleted by then was never sent. */
  replayFrom: number;
  /** Where a run of lines of one seq was cut: those of before Reverie share one. */
  within: ReadonlyMap<Kind, { readonly state: LogState; readonly entry: number }>;
}

export function beginWatch(owner: Owner, query: WatchQuery): WatchCursor {
  const { afterSeq } = query;
  const cursor = { began: true, base: 0, replayFrom: 0, within: new Map() };
  if (afterSeq === undefined && owner.exists) return { ...cursor, seq: owner.seq };
  if (afterSeq === undefined || afterSeq === 0)
    return { ...cursor, seq: afterSeq === undefined ? 0 : -1, began: false };
  owner.checkMinSeq(afterSeq);
  return { ...cursor, seq: afterSeq };
}

/** The next changes after the cursor, which moves along; none when it is up to date. */
export function nextChanges(owner: Owner, kinds: readonly Kind[], cursor: WatchCursor): WatchStep {
  const { floor } = owner;
  if (!cursor.began) {
    cursor.base = floor;
    cursor.replayFrom = owner.reportedSeq;
  } else if (floor > Math.max(cursor.seq, cursor.base)) {
    throw new ReverieError(
      "WATCH_CURSOR_EXPIRED",
      "what followed this seq can no longer be replayed; list the owner again, then watch after the seq of that answer",
      { metadata: { floor: String(floor) } },
    );
  }
  const sources = owner.logs.filter((log) => kinds.includes(log.kind)).map((log) => new LogChanges(log, cursor));
  const changes: WatchChange[] = [];
  let bytes = 0;
  while (bytes < STEP_BYTES) {
    let first: LogChanges | undefined;
    for (const source of sources) if (source.seq < (first?.seq ?? Number.POSITIVE_INFINITY)) first = source;
    if (first === undefined) {
      if (owner.reportedSeq > cursor.seq) cursor.seq = owner.reportedSeq;
      break;
    }
    const { seq } = first;
    const taken = first.take();
    if (taken !== undefined) {
      changes.push(taken.change);
      bytes += taken.bytes;
    }
    if (sources.every((source) => source.seq > seq)) cursor.seq = Math.max(cursor.seq, seq);
  }
  cursor.within = new Map(sources.map((source) => [source.kind, source.place]));
  if (changes.length > 0) cursor.began = true;
  return { changes, cursor: Math.max(0, cursor.seq) };
}

/** One log's changes after a seq, in seq order: entries as they are now, and what was forgotten. */
class LogChanges {
  private entry: number;
  private tombstone: number;

  constructor(
    private readonly log: Log,
    { seq, replayFrom, within }: WatchCursor,
  ) {
    const { index, tombstones } = log.state;
    const place = within.get(log.kind);
    this.entry = seq < 0 ? 0 : index.afterSeq(seq);
    if (place?.state === log.state) this.entry = Math.max(this.entry, place.entry);
    const known = Math.max(seq, replayFrom);
    this.tombstone = firstIndex(tombstones.length, (at) => tombstones[at].seq > known);
    this.skip();
  }

  get kind(): Kind {
    return this.log.kind;
  }

  /** Where to go on in this very state of the log. */
  get place(): { readonly state: LogState; readonly entry: number } {
    return { state: this.log.state, entry: this.entry };
  }

  /** Infinity at the end. */
  get seq(): number {
    return Math.min(this.entrySeq, this.tombstoneSeq);
  }

  take(): { readonly change: WatchChange; readonly bytes: number } | undefined {
    if (this.tombstoneSeq < this.entrySeq) {
      const { id, seq } = this.log.state.tombstones[this.tombstone++];
      return { change: { deleted: { id, kind: this.log.kind, seq } }, bytes: id.length + 32 };
    }
    const i = this.entry++;
    this.skip();
    const upserted = readEntry(this.log, i);
    return upserted && { change: { upserted }, bytes: this.log.state.index.length(i) };
  }

  private get entrySeq(): number {
    const { index } = this.log.state;
    return this.entry < index.count ? index.orderSeq(this.entry) : Infinity;
  }

  private get tombstoneSeq(): number {
    return this.log.state.tombstones[this.tombstone]?.seq ?? Infinity;
  }

  private skip(): void {
    const { index } = this.log.state;
    while (this.entry < index.count && !index.isLive(this.entry)) this.entry++;
  }
}
