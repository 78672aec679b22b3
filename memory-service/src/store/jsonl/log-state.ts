import { isAscii } from "node:buffer";
import { firstIndex } from "./first-index.js";
import { decodeLine, type EntryLine, type Line, type Range } from "./line.js";
import { LogIndex, legacyOrd } from "./log-index.js";

export interface Tombstone {
  readonly id: string;
  /** Keyed hash of what was forgotten: 16 hexadecimal digits. */
  readonly hash: string;
  readonly seq: number;
  /** When it was forgotten, epoch milliseconds. */
  readonly ts: number;
  /** Of its line. */
  readonly bytes: number;
}

export interface ClearedHashes {
  readonly hashes: readonly string[];
  readonly seq: number;
  /** When it was cleared, epoch milliseconds. */
  readonly ts: number;
  /** Of its line. */
  readonly bytes: number;
}

export interface ReplacedRange {
  readonly range: Range;
  /** The replaced entry or a part of it, which are to be erased; nothing any more; or what isn't that entry's. */
  readonly holds: "entry" | "nothing" | "others";
}

/** How long a late retry of what was forgotten is still known, milliseconds. */
export const TOMBSTONE_MS = 24 * 3600 * 1000;

const NON_CANONICAL_ESCAPE = /\\u(?!00[01])|\\\//;

/** All that is known of one log's durable bytes: what replaying the file from its start gives. */
export class LogState {
  readonly index = new LogIndex();
  /** In seq order. */
  readonly tombstones: Tombstone[] = [];
  readonly cleared: ClearedHashes[] = [];
  /** Complete lines that are no readable lines of ours, nor legacy ones. By offset. */
  readonly badLines: Range[] = [];
  /** Bytes of the file that are known: the next line goes here. */
  size = 0;
  /** Bytes of lines that are neither live entries nor erased, such as tombstones. */
  private controlBytes = 0;
  /** Tombstones and cleared lines, from the oldest on, whose time is over, and their bytes. */
  private expiredTombstones = 0;
  private expiredCleared = 0;
  private expiredBytes = 0;
  maxSeq = 0;
  private newestLegacyOrd = Number.NEGATIVE_INFINITY;
  /** The seq of the latest change that a watcher can no longer replay. */
  floor = 0;
  /** Entries that caps dropped, ever. */
  dropped = 0;
  /** The file holds lines of ours, so that its seqs count. */
  hasSeq = false;

  /** `seq` to when it was forgotten, by hash; built when first asked. */
  private forgotten: Map<string, number> | undefined;

  /** Where replay met forget, cleared and head lines: no range may touch one. */
  private readonly controlLines: Range[] = [];
  /** Bytes of the bad lines with their newlines. */
  badBytes = 0;

  get corruptLines(): number {
    return this.badLines.length + this.index.staleCount;
  }

  /** Takes in one complete line at `offset`. Returns a range that it says was replaced and that still holds something. */
  replay(line: Buffer, offset: number): Range | undefined {
    const replaced = this.take(decodeLine(line), line, offset);
    return replaced?.holds === "entry" ? replaced.range : undefined;
  }

  /** The same for a line that was decoded already. Returns the range that it says was replaced, and what is there. */
  take(decoded: Line, line: Buffer, offset: number): ReplacedRange | undefined {
    let replaced: ReplacedRange | undefined;
    if ((decoded.type === "entry" || decoded.type === "forget") && decoded.was !== undefined) {
      const { was: range, id } = decoded;
      replaced = { range, holds: range.at + range.len <= offset ? this.drop(range, id) : "others" };
    }
    if (decoded.type === "forget" || decoded.type === "cleared" || decoded.type === "head")
      this.controlLines.push({ at: offset, len: line.length });
    this.apply(decoded, line, offset);
    return replaced;
  }

  /** Takes in a line that was just written, or replayed, at `offset`. */
  apply(decoded: Line, line: Buffer, offset: number): void {
    const length = line.length;
    this.size = offset + length + 1;
    switch (decoded.type) {
      case "entry":
        this.hasSeq ||= decoded.seq > 0;
        this.maxSeq = Math.max(this.maxSeq, decoded.seq);
        this.addEntry(decoded, line, offset);
        return;
      case "stale":
        this.index.add({
          id: decoded.id,
          text: "",
          ts: 0,
          seq: 0,
          ord: legacyOrd(offset),
          offset,
          length,
          legacy: false,
          patched: false,
          stale: true,
          escaped: false,
          ascii: true,
        });
        return;
      case "bad":
        this.addBad({ at: offset, len: length });
        return;
      case "blank":
        return;
    }
    this.controlBytes += length + 1;
    this.hasSeq = true;
    this.maxSeq = Math.max(this.maxSeq, decoded.seq);
    if (decoded.type === "head") {
      this.floor = Math.max(this.floor, decoded.floor);
      this.dropped = Math.max(this.dropped, decoded.dropped);
    } else if (decoded.type === "forget") {
      this.tombstones.push({ id: decoded.id, hash: decoded.hash, seq: decoded.seq, ts: decoded.ts, bytes: length + 1 });
      if (this.forgotten !== undefined) remember(this.forgotten, decoded.hash, decoded.ts);
    } else {
      this.cleared.push({ hashes: decoded.hashes, seq: decoded.seq, ts: decoded.ts, bytes: length + 1 });
      this.forgotten = undefined;
    }
  }

  /** What the hash stands for was forgotten or cleared after `since`, epoch milliseconds. */
  wasForgotten(hash: string, since: number): boolean {
    const at = this.forgottenHashes().get(hash);
    return at !== undefined && at > since;
  }

  /** Something was forgotten or cleared: a hash is worth computing. */
  get forgets(): boolean {
    return this.tombstones.length > 0 || this.cleared.length > 0;
  }

  /** Bytes that a rewrite at this time, epoch milliseconds, would leave behind. */
  wasteAt(now: number): number {
    const expired = (list: readonly { readonly ts: number; readonly bytes: number }[], from: number): number => {
      let at = from;
      for (; at < list.length && list[at].ts <= now - TOMBSTONE_MS; at++) this.expiredBytes += list[at].bytes;
      return at;
    };
    this.expiredTombstones = expired(this.tombstones, this.expiredTombstones);
    this.expiredCleared = expired(this.cleared, this.expiredCleared);
    const kept = this.index.liveBytes + this.index.staleBytes + this.controlBytes + this.badBytes;
    return this.size - kept + this.expiredBytes;
  }

  /** Takes in a line that is too long to be looked at. */
  addLongLine(line: Range): void {
    this.size = line.at + line.len + 1;
    this.addBad(line);
  }

  private addBad(line: Range): void {
    this.badLines.push(line);
    this.badBytes += line.len + 1;
  }

  private forgottenHashes(): Map<string, number> {
    if (this.forgotten === undefined) {
      this.forgotten = new Map();
      for (const { hash, ts } of this.tombstones) remember(this.forgotten, hash, ts);
      for (const { hashes, ts } of this.cleared) for (const hash of hashes) remember(this.forgotten, hash, ts);
    }
    return this.forgotten;
  }

  private addEntry(entry: EntryLine, line: Buffer, offset: number): void {
    const { isPlain = false } = entry;
    // An older writer's line in a log that was compacted: its offset alone would put it before its elders.
    const ord = entry.ord ?? (entry.legacy ? Math.max(legacyOrd(offset), this.newestLegacyOrd + 1) : entry.seq);
    if (ord < 0) this.newestLegacyOrd = Math.max(this.newestLegacyOrd, ord);
    this.index.add({
      id: entry.id,
      text: entry.text,
      ts: entry.ts,
      seq: entry.seq,
      ord,
      offset,
      length: line.length,
      legacy: entry.legacy,
      patched: entry.was !== undefined,
      stale: false,
      escaped: !isPlain && line.includes(0x5c) && NON_CANONICAL_ESCAPE.test(line.toString("latin1")),
      ascii: isPlain || isAscii(line),
    });
  }

  /**
   * What the range held is gone: that very entry, or what a broken-off erase left of it. Where the range is not that
   * entry's, somebody moved the file's bytes about, and it means nothing.
   */
  private drop(range: Range, id: string): ReplacedRange["holds"] {
    const end = range.at + range.len;
    const { index } = this;
    const begin = index.atOffset(range.at);
    const entries: number[] = [];
    for (let i = Math.max(0, begin - 1); i < index.count && index.offset(i) < end; i++) {
      if (index.isDead(i) || index.offset(i) + index.length(i) <= range.at) continue;
      if (index.offset(i) !== range.at || index.length(i) !== range.len || !index.find(id).includes(i)) return "others";
      entries.push(i);
    }
    const { badLines, controlLines } = this;
    const control = firstIndex(controlLines.length, (at) => controlLines[at].at + controlLines[at].len > range.at);
    if (control < controlLines.length && controlLines[control].at < end) return "others";
    const firstBad = firstIndex(badLines.length, (at) => badLines[at].at + badLines[at].len > range.at);
    let endOfBad = firstBad;
    while (endOfBad < badLines.length && badLines[endOfBad].at < end) endOfBad++;
    const bad = badLines.slice(firstBad, endOfBad);
    if (bad.some(({ at, len }) => at < range.at || at + len > end)) return "others";
    for (const i of entries) index.kill(i);
    badLines.splice(firstBad, bad.length);
    for (const { len } of bad) this.badBytes -= len + 1;
    return entries.length > 0 || bad.length > 0 ? "entry" : "nothing";
  }
}

/** What was forgotten twice was forgotten last. */
function remember(forgotten: Map<string, number>, hash: string, ts: number): void {
  forgotten.set(hash, Math.max(ts, forgotten.get(hash) ?? 0));
}
