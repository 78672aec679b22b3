import { fold } from "../../text/fold.js";
import type { StoredEntry } from "../store.js";
import { decodeLine, metaOf } from "./line.js";
import type { Log } from "./log.js";
import type { LogState } from "./log-state.js";
import { compareKeys, type Key } from "./ordered-entries.js";
import { queryGrams } from "./signatures.js";
import { stored } from "./stored-entry.js";

/** A text to look for, prepared once. */
export class Query {
  readonly folded: string;
  readonly grams: readonly number[];
  readonly isAscii: boolean;
  /** How the text stands inside a JSON string; undefined when lines must be parsed to be searched. */
  readonly raw: string | undefined;
  /** Its bytes, one a character, with small ASCII letters; undefined when it stands in other bytes too: in capitals. */
  readonly bytes: string | undefined;

  constructor(text: string) {
    this.folded = fold(text);
    this.grams = queryGrams(this.folded);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what is meant.
    this.isAscii = /^[\x00-\x7f]*$/.test(this.folded);
    // A mark at its beginning would combine with what stands before it, and what that is differs inside JSON.
    const plain = JSON.stringify(this.folded).slice(1, -1) === this.folded && !/^\p{M}/u.test(this.folded);
    this.raw = plain ? this.folded : undefined;
    const hasCapitals = [...this.folded].some((c) => c > "\x7f" && c.toUpperCase() !== c);
    this.bytes = plain && !hasCapitals ? asBytes(Buffer.from(this.folded)) : undefined;
  }

  get matchesAll(): boolean {
    return this.folded === "";
  }
}

export interface Match {
  readonly log: Log;
  readonly i: number;
  /** undefined where nothing had to be read to know that it matches. */
  readonly entry: StoredEntry | undefined;
}

/**
 * Finds the matches in one log, newest first, a step at a time: a step looks into one block, or at one late entry.
 * `bound` says that nothing newer is left.
 */
export class LogSearch {
  private state: LogState;
  private countSeen: number;
  private lateSeen: Uint32Array;
  private candidates: Uint32Array;
  /** The block to look into next. */
  private block: number;
  /** Matches of the blocks looked into, oldest first. */
  private readonly found: Match[] = [];
  private late: number;
  private lateMatch: Match | undefined;
  private limit: Key | undefined;
  private last: Key | undefined;
  /** The block where a search goes on may hold entries that were looked at before. */
  private checkFirstBlock = false;
  scanned = 0;

  constructor(
    readonly log: Log,
    private readonly query: Query,
    private readonly since: number,
  ) {
    this.state = log.state;
    this.countSeen = log.state.index.count;
    this.candidates = this.state.index.signatures.candidates(query.grams);
    this.block = this.state.index.blocks - 1;
    const { entries, count } = this.state.index.lateEntries();
    this.lateSeen = entries;
    this.late = count - 1;
    this.settle();
  }

  /** The key that all that is left is at or below; undefined when nothing is left. */
  get bound(): Key | undefined {
    const main = this.mainBound;
    const late = this.lateBound;
    if (main === undefined || late === undefined) return main ?? late;
    return compareKeys(main, late) > 0 ? main : late;
  }

  /** Matches known and not taken yet. */
  get known(): number {
    return this.found.length + (this.lateMatch === undefined ? 0 : 1);
  }

  /** Takes the match that `bound` names, or looks further and returns undefined. */
  step(): Match | undefined {
    const main = this.mainBound;
    const late = this.lateBound;
    const takeMain = late === undefined || (main !== undefined && compareKeys(main, late) > 0);
    let match: Match | undefined;
    if (takeMain) {
      match = this.found.pop();
      if (match === undefined) this.lookIntoBlock();
    } else if (this.lateMatch !== undefined) {
      match = this.lateMatch;
      this.lateMatch = undefined;
      this.late--;
    } else this.lookAtLate();
    if (match !== undefined) this.last = { ts: this.state.index.ts(match.i), ord: this.state.index.ord(match.i) };
    this.settle();
    return match;
  }

  /** To be called after others had a turn: entries may have moved. */
  resume(): void {
    const { bound } = this;
    const { state } = this.log;
    if (bound === undefined) return;
    const { entries, count } = state.index.lateEntries();
    // Nothing has moved: what was passed over already isn't counted again.
    if (state === this.state && state.index.count === this.countSeen && entries === this.lateSeen) return;
    this.lateSeen = entries;
    if (this.lateMatch !== undefined) this.scanned--;
    // A patched entry has moved to the end: what was looked into before may hold no more, and newer blocks some of it.
    if (state !== this.state || state.index.count !== this.countSeen) {
      this.state = state;
      this.countSeen = state.index.count;
      this.scanned -= this.found.length;
      this.found.length = 0;
      this.candidates = state.index.signatures.candidates(this.query.grams);
      this.block = Math.min(state.index.blockAtKey(bound.ts, bound.ord, true), state.index.blocks - 1);
      this.checkFirstBlock = true;
    }
    this.limit = bound;
    this.lateMatch = undefined;
    let late = state.index.lateAtKey(bound.ts, bound.ord);
    while (late < count && this.isLeft(entries[late])) late++;
    this.late = late - 1;
    this.settle();
  }

  /** What a search that goes on has left: at or below the limit, and below the last match taken. */
  private isLeft(i: number): boolean {
    const { index } = this.state;
    const key = { ts: index.ts(i), ord: index.ord(i) };
    if (this.last !== undefined && compareKeys(key, this.last) >= 0) return false;
    return this.limit === undefined || compareKeys(key, this.limit) <= 0;
  }

  private get mainBound(): Key | undefined {
    const { index } = this.state;
    if (this.found.length > 0) {
      const { i } = this.found[this.found.length - 1];
      return { ts: index.ts(i), ord: index.ord(i) };
    }
    return this.block < 0 ? undefined : { ts: index.blockTs(this.block), ord: index.blockOrd(this.block) };
  }

  private get lateBound(): Key | undefined {
    if (this.late < 0) return undefined;
    const i = this.state.index.lateEntries().entries[this.late];
    return { ts: this.state.index.ts(i), ord: this.state.index.ord(i) };
  }

  /** Passes over blocks and late entries that can't match. */
  private settle(): void {
    const { index } = this.state;
    if (this.found.length === 0) {
      while (this.block >= 0 && !(this.isCandidate(this.block) && index.liveInBlock(this.block) > 0)) {
        if (index.blockTs(this.block) < this.since) {
          this.block = -1;
          break;
        }
        // 32 blocks at once, of which none can match and none is too old.
        const group = this.block >>> 5;
        const first = group * 32;
        if (this.block === first + 31 && this.candidates[group] === 0 && index.blockTs(first) >= this.since) {
          this.scanned += index.liveInGroup(group);
          this.block -= 32;
        } else {
          this.scanned += index.liveInBlock(this.block);
          this.block--;
        }
      }
      if (this.block >= 0 && index.blockTs(this.block) < this.since) this.block = -1;
    }
    const { entries } = index.lateEntries();
    while (this.late >= 0 && this.lateMatch === undefined) {
      const i = entries[this.late];
      if (index.ts(i) < this.since) {
        this.late = -1;
        break;
      }
      if (index.isLive(i)) {
        if (this.query.matchesAll || this.isCandidate(index.blockOf(i))) break;
        this.scanned++;
      }
      this.late--;
    }
  }

  private isCandidate(block: number): boolean {
    const word = block >>> 5;
    // Blocks that came after the search began are newer than it.
    return word < this.candidates.length && (this.candidates[word] & (1 << (block & 31))) !== 0;
  }

  private lookAtLate(): void {
    const i = this.state.index.lateEntries().entries[this.late];
    this.scanned++;
    if (this.query.matchesAll) {
      this.lateMatch = { log: this.log, i, entry: undefined };
      return;
    }
    const entry = this.match(i, this.log.read(i));
    if (entry === undefined) this.late--;
    else this.lateMatch = { log: this.log, i, entry };
  }

  private lookIntoBlock(): void {
    const { index } = this.state;
    const { block } = this;
    this.block--;
    this.scanned += index.liveInBlock(block);
    const check = this.checkFirstBlock;
    this.checkFirstBlock = false;
    const begin = index.blockBegin(block);
    const end = index.blockEnd(block);
    const wanted = (i: number): boolean =>
      index.isLive(i) && !index.isLate(i) && index.ts(i) >= this.since && (!check || this.isLeft(i));
    if (this.query.matchesAll) {
      for (let i = begin; i < end; i++) if (wanted(i)) this.found.push({ log: this.log, i, entry: undefined });
      return;
    }
    const start = index.offset(begin);
    const bytes = this.log.readRange(start, index.offset(end - 1) + index.length(end - 1) - start);
    for (const i of this.suspects(block, bytes, start)) {
      if (!wanted(i)) continue;
      const at = index.offset(i) - start;
      const entry = this.match(i, bytes.subarray(at, at + index.length(i)));
      if (entry !== undefined) this.found.push({ log: this.log, i, entry });
    }
  }

  /** The entries of a block that the text may be in, oldest first, by a search of the bytes as they are. */
  private suspects(block: number, bytes: Buffer, start: number): number[] {
    const { index } = this.state;
    const { raw, bytes: needle, isAscii } = this.query;
    const begin = index.blockBegin(block);
    const end = index.blockEnd(block);
    const suspects: number[] = [];
    if (raw !== undefined && !index.isEscaped(block)) {
      if (index.isAscii(block) && !isAscii) return suspects;
      if (needle !== undefined) {
        const text = asBytes(bytes);
        let at = text.indexOf(needle);
        if (at < 0 && index.isAscii(block)) return suspects;
        for (let i = begin; i < end; i++) {
          const from = index.offset(i) - start;
          if (at >= 0 && at < from) at = text.indexOf(needle, from);
          if (!index.isPlain(i) || (at >= 0 && at < from + index.length(i))) suspects.push(i);
        }
        return suspects;
      }
      if (!fold(bytes.toString()).includes(raw)) return suspects;
    }
    for (let i = begin; i < end; i++) suspects.push(i);
    return suspects;
  }

  private match(i: number, bytes: Buffer): StoredEntry | undefined {
    const line = decodeLine(bytes);
    if (line.type !== "entry") {
      if (this.state.index.isLive(i)) this.state.index.markStale(i);
      return undefined;
    }
    if (!fold(line.text).includes(this.query.folded)) return undefined;
    return stored(this.log, i, line, metaOf(bytes, line));
  }
}

/** Changes bytes above ASCII too, but equal ones alike: what was equal is found, and what wasn't is looked at again. */
function asBytes(bytes: Buffer): string {
  return bytes.toString("latin1").toLowerCase();
}
