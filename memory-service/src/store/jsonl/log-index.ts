import { fold, foldsPlainly } from "../../text/fold.js";
import { resized } from "./columns.js";
import { firstIndex } from "./first-index.js";
import { IdTable } from "./id-table.js";
import { LEGACY_ORD_BASE } from "./line.js";
import { Signatures } from "./signatures.js";

// What the service keeps in memory of one log: numbers an entry in typed arrays, in
// file order, and a filter of the texts a block. Texts and ids stay on disk.

/** A block ends before it passes this, unless one line alone is larger. */
const BLOCK_BYTES = 16 * 1024;

/** Room for entries to come, beside those that are there. */
const MOST_ROOM = 1.25;

const DEAD = 1;
/** Older than the newest entry before it in the file, by (ts, ord). */
const LATE = 2;
/** Fails its checksum: holds an id, is never served. */
const STALE = 4;
const LEGACY = 8;
/** Written by PatchMeta: an export has to take the range out. */
const PATCHED = 16;
/** Its text folds to more than its small letters. */
const FOLDED = 32;

export interface IndexedEntry {
  readonly id: string;
  /** "" for a stale line. */
  readonly text: string;
  readonly ts: number;
  readonly seq: number;
  readonly ord: number;
  readonly offset: number;
  /** Bytes without the newline. */
  readonly length: number;
  readonly legacy: boolean;
  readonly patched: boolean;
  readonly stale: boolean;
  /** JSON escapes beyond those that our lines need, or a block that must be parsed to be searched. */
  readonly escaped: boolean;
  readonly ascii: boolean;
}

export class LogIndex {
  /** Entries in the arrays, dead ones included. */
  count = 0;
  live = 0;
  /** Bytes of live entries' lines with their newlines. */
  liveBytes = 0;
  staleCount = 0;
  /** Bytes of stale lines with their newlines. */
  staleBytes = 0;
  /** The newest entry by (ts, ord): what the next one is late against. */
  maxTs = -Infinity;
  maxOrd = -Infinity;

  private capacity = 0;
  private tsColumn = new Float64Array(0);
  private seqColumn = new Float64Array(0);
  private offsetColumn = new Float64Array(0);
  private lengthColumn = new Uint32Array(0);
  private flagColumn = new Uint8Array(0);
  /** Allocated when the first entry comes whose ord isn't its seq. */
  private ordColumn: Float64Array | undefined;

  private readonly ids = new IdTable((i) => this.isDead(i));

  /** Live and dead late entries, by (ts, ord). */
  private late = new Uint32Array(0);
  private lateCount = 0;
  private lateDead = 0;
  private pendingLate: number[] = [];

  readonly signatures = new Signatures();
  private blockFirst = new Uint32Array(16);
  /** Live entries of a block that are not late. */
  private blockLive = new Uint16Array(16);
  /** The same of 32 blocks. */
  private groupLive = new Uint32Array(1);
  /** The newest (ts, ord) up to the end of the block. */
  private blockMaxTs = new Float64Array(16);
  private blockMaxOrd = new Float64Array(16);
  private blockFlags = new Uint8Array(16);
  blocks = 0;
  private blockStart = 0;

  ts(i: number): number {
    return this.tsColumn[i];
  }
  /** Its seq, or for a line without one the seq of the line before it: never falls in file order. */
  orderSeq(i: number): number {
    return this.seqColumn[i];
  }
  offset(i: number): number {
    return this.offsetColumn[i];
  }
  length(i: number): number {
    return this.lengthColumn[i];
  }
  ord(i: number): number {
    return this.ordColumn === undefined ? this.seqColumn[i] : this.ordColumn[i];
  }
  isLive(i: number): boolean {
    return (this.flagColumn[i] & (DEAD | STALE)) === 0;
  }
  isDead(i: number): boolean {
    return (this.flagColumn[i] & DEAD) !== 0;
  }
  isStale(i: number): boolean {
    return (this.flagColumn[i] & (DEAD | STALE)) === STALE;
  }
  isLate(i: number): boolean {
    return (this.flagColumn[i] & LATE) !== 0;
  }
  isLegacy(i: number): boolean {
    return (this.flagColumn[i] & LEGACY) !== 0;
  }
  isPatched(i: number): boolean {
    return (this.flagColumn[i] & PATCHED) !== 0;
  }
  isPlain(i: number): boolean {
    return (this.flagColumn[i] & FOLDED) === 0;
  }

  /** Makes room for as many entries at once: else each growth copies what is there. */
  reserve(entries: number): void {
    if (entries <= this.capacity) return;
    this.resize(entries);
    this.ids.reserve(entries);
  }

  /** Gives back room that `reserve` made in vain. */
  trim(): void {
    const room = Math.max(16, Math.ceil(this.count * MOST_ROOM));
    if (this.capacity > room) this.resize(room);
  }

  /** Entries must come in file order. Returns the entry's number. */
  add(entry: IndexedEntry): number {
    if (this.count === this.capacity) this.grow();
    const i = this.count++;
    this.tsColumn[i] = entry.ts;
    // The column is searched by halves, so a line without a seq of its own borrows the one before it.
    this.seqColumn[i] = i > 0 ? Math.max(entry.seq, this.seqColumn[i - 1]) : entry.seq;
    this.offsetColumn[i] = entry.offset;
    this.lengthColumn[i] = entry.length;
    if (entry.ord !== this.seqColumn[i] && this.ordColumn === undefined) {
      this.ordColumn = new Float64Array(this.capacity);
      this.ordColumn.set(this.seqColumn.subarray(0, i));
    }
    if (this.ordColumn !== undefined) this.ordColumn[i] = entry.ord;
    this.ids.add(i, entry.id);

    const isAscii = entry.ascii && !entry.escaped;
    const isPlain = isAscii || foldsPlainly(entry.text);
    let flags = (entry.legacy ? LEGACY : 0) | (entry.patched ? PATCHED : 0) | (isPlain ? 0 : FOLDED);
    if (entry.stale) {
      flags |= STALE;
      this.staleCount++;
      this.staleBytes += entry.length + 1;
    } else {
      this.live++;
      this.liveBytes += entry.length + 1;
    }
    if (entry.ts < this.maxTs || (entry.ts === this.maxTs && entry.ord < this.maxOrd)) {
      flags |= LATE;
      if (!entry.stale) this.pendingLate.push(i);
    } else if (!entry.stale) {
      this.maxTs = entry.ts;
      this.maxOrd = entry.ord;
    }
    this.flagColumn[i] = flags;
    this.addToBlock(i, entry, flags);
    return i;
  }

  kill(i: number): void {
    const flags = this.flagColumn[i];
    if ((flags & DEAD) !== 0) return;
    this.flagColumn[i] = flags | DEAD;
    if ((flags & STALE) !== 0) {
      this.staleCount--;
      this.staleBytes -= this.lengthColumn[i] + 1;
      return;
    }
    this.live--;
    this.liveBytes -= this.lengthColumn[i] + 1;
    if ((flags & LATE) === 0) {
      const block = this.blockOf(i);
      this.blockLive[block]--;
      this.groupLive[block >>> 5]--;
    } else if (++this.lateDead > 1024 && this.lateDead * 2 > this.lateCount) this.purgeLate();
  }

  /** A live line turned out to be damaged. */
  markStale(i: number): void {
    if (!this.isLive(i)) return;
    this.kill(i);
    this.flagColumn[i] = (this.flagColumn[i] & ~DEAD) | STALE;
    this.staleCount++;
    this.staleBytes += this.lengthColumn[i] + 1;
  }

  /** Numbers of the entries, live and stale, whose id has this id's hash, oldest first; check the id itself. */
  find(id: string): number[] {
    return this.ids.find(id);
  }

  /** Entries that may be later versions of entry `i`. */
  findLike(i: number): number[] {
    return this.ids.findLike(i);
  }

  /** The entry that begins at this byte, or the first one behind it. */
  atOffset(offset: number): number {
    return firstIndex(this.count, (i) => this.offsetColumn[i] >= offset);
  }

  /** The first entry whose seq is above; seqs grow in file order. */
  afterSeq(seq: number): number {
    return firstIndex(this.count, (i) => this.seqColumn[i] > seq);
  }

  blockBegin(block: number): number {
    return this.blockFirst[block];
  }
  blockEnd(block: number): number {
    return block + 1 < this.blocks ? this.blockFirst[block + 1] : this.count;
  }
  blockOf(i: number): number {
    return firstIndex(this.blocks, (block) => this.blockFirst[block] > i) - 1;
  }
  liveInBlock(block: number): number {
    return this.blockLive[block];
  }
  /** Of blocks 32 × `group` and the 31 behind it. */
  liveInGroup(group: number): number {
    return this.groupLive[group];
  }
  blockTs(block: number): number {
    return this.blockMaxTs[block];
  }
  blockOrd(block: number): number {
    return this.blockMaxOrd[block];
  }
  isEscaped(block: number): boolean {
    return (this.blockFlags[block] & 1) !== 0;
  }
  isAscii(block: number): boolean {
    return (this.blockFlags[block] & 2) === 0;
  }

  /** The first block whose newest (ts, ord) is at or behind the key; with `behind`, behind it. */
  blockAtKey(ts: number, ord: number, behind = false): number {
    return firstIndex(this.blocks, (block) => {
      const blockTs = this.blockMaxTs[block];
      const blockOrd = this.blockMaxOrd[block];
      return blockTs > ts || (blockTs === ts && (behind ? blockOrd > ord : blockOrd >= ord));
    });
  }

  /** Late entries by (ts, ord), dead ones included. */
  lateEntries(): { readonly entries: Uint32Array; readonly count: number } {
    if (this.pendingLate.length > 0) this.mergeLate();
    return { entries: this.late, count: this.lateCount };
  }

  /** The place of the first late entry at or behind the key. */
  lateAtKey(ts: number, ord: number): number {
    const { entries, count } = this.lateEntries();
    return firstIndex(count, (at) => {
      const i = entries[at];
      return this.tsColumn[i] > ts || (this.tsColumn[i] === ts && this.ord(i) >= ord);
    });
  }

  /** Live entry numbers by ord, oldest first: the order of caps and exports. */
  byOrd(): Uint32Array {
    const result = new Uint32Array(this.live);
    const outOfOrder: number[] = [];
    let inOrder = 0;
    let max = -Infinity;
    for (let i = 0; i < this.count; i++) {
      if (!this.isLive(i)) continue;
      const ord = this.ord(i);
      if (ord < max) outOfOrder.push(i);
      else {
        max = ord;
        result[inOrder++] = i;
      }
    }
    if (outOfOrder.length === 0) return result;
    outOfOrder.sort((a, b) => this.ord(a) - this.ord(b));
    // Merge from the end, so that the entries in order can stay where they are.
    let from = inOrder - 1;
    let rest = outOfOrder.length - 1;
    for (let to = result.length - 1; rest >= 0; to--) {
      result[to] =
        from >= 0 && this.ord(result[from]) > this.ord(outOfOrder[rest]) ? result[from--] : outOfOrder[rest--];
    }
    return result;
  }

  private addToBlock(i: number, entry: IndexedEntry, flags: number): void {
    const end = entry.offset + entry.length;
    const full = this.blocks > 0 && (end - this.blockStart > BLOCK_BYTES || this.blockLive[this.blocks - 1] === 0xffff);
    if (this.blocks === 0 || full) {
      if (full) this.signatures.seal();
      if (this.blocks === this.blockFirst.length) this.growBlocks();
      this.blockFirst[this.blocks] = i;
      this.blockLive[this.blocks] = 0;
      this.blockFlags[this.blocks] = 0;
      this.blockStart = entry.offset;
      this.blocks++;
    }
    const block = this.blocks - 1;
    if ((flags & (LATE | STALE)) === 0) {
      this.blockLive[block]++;
      this.groupLive[block >>> 5]++;
    }
    this.blockMaxTs[block] = this.maxTs;
    this.blockMaxOrd[block] = this.maxOrd;
    if (entry.escaped) this.blockFlags[block] |= 1;
    if (!entry.ascii) this.blockFlags[block] |= 2;
    if (entry.stale) return;
    if (entry.ascii && !entry.escaped) this.signatures.addAscii(entry.text);
    else this.signatures.add(fold(entry.text));
  }

  private mergeLate(): void {
    const key = (a: number, b: number): number => this.tsColumn[a] - this.tsColumn[b] || this.ord(a) - this.ord(b);
    const added = this.pendingLate.filter((i) => this.isLive(i)).sort(key);
    this.lateDead = Math.max(0, this.lateDead - (this.pendingLate.length - added.length));
    this.pendingLate = [];
    const total = this.lateCount + added.length;
    if (total > this.late.length) {
      const larger = new Uint32Array(Math.max(64, Math.ceil(total * 1.5)));
      larger.set(this.late.subarray(0, this.lateCount));
      this.late = larger;
    }
    let from = this.lateCount - 1;
    let rest = added.length - 1;
    for (let to = total - 1; rest >= 0; to--) {
      this.late[to] = from >= 0 && key(this.late[from], added[rest]) > 0 ? this.late[from--] : added[rest--];
    }
    this.lateCount = total;
  }

  private purgeLate(): void {
    if (this.pendingLate.length > 0) this.mergeLate();
    const kept = this.late.subarray(0, this.lateCount).filter((i) => this.isLive(i));
    this.late = kept;
    this.lateCount = kept.length;
    this.lateDead = 0;
  }

  private grow(): void {
    this.resize(this.capacity < 65536 ? Math.max(16, this.capacity * 2) : Math.ceil(this.capacity * MOST_ROOM));
  }

  private resize(capacity: number): void {
    this.capacity = capacity;
    this.tsColumn = resized(this.tsColumn, capacity);
    this.seqColumn = resized(this.seqColumn, capacity);
    this.offsetColumn = resized(this.offsetColumn, capacity);
    this.lengthColumn = resized(this.lengthColumn, capacity);
    this.ids.resize(capacity);
    this.flagColumn = resized(this.flagColumn, capacity);
    if (this.ordColumn !== undefined) this.ordColumn = resized(this.ordColumn, capacity);
  }

  private growBlocks(): void {
    const capacity = Math.ceil(this.blockFirst.length * 1.5);
    this.blockFirst = resized(this.blockFirst, capacity);
    this.blockLive = resized(this.blockLive, capacity);
    this.groupLive = resized(this.groupLive, (capacity >>> 5) + 1);
    this.blockMaxTs = resized(this.blockMaxTs, capacity);
    this.blockMaxOrd = resized(this.blockMaxOrd, capacity);
    this.blockFlags = resized(this.blockFlags, capacity);
  }
}

export function legacyOrd(offset: number): number {
  return offset - LEGACY_ORD_BASE;
}
