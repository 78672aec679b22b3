import type { LogIndex } from "./log-index.js";

/** A place in the order of (ts, ord). */
export interface Key {
  readonly ts: number;
  readonly ord: number;
}

export const compareKeys = (a: Key, b: Key): number => a.ts - b.ts || a.ord - b.ord;

/**
 * The live entries of one log in the order of (ts, ord), from a key on. Most of a log is in that order as it
 * stands; its late entries are merged in.
 */
export class OrderedEntries {
  private readonly step: 1 | -1;
  private main: number;
  private late: number;

  constructor(
    private readonly index: LogIndex,
    order: "newest" | "oldest",
    from?: Key & { readonly inclusive: boolean },
  ) {
    this.step = order === "newest" ? -1 : 1;
    const lateCount = index.lateEntries().count;
    if (from === undefined) {
      this.main = this.step === 1 ? 0 : index.count - 1;
      this.late = this.step === 1 ? 0 : lateCount - 1;
      return;
    }
    // A patched copy of what was the newest then has its key, in a later block.
    const block = index.blockAtKey(from.ts, from.ord, this.step === -1);
    const inBlock = block < index.blocks;
    if (this.step === 1) this.main = inBlock ? index.blockBegin(block) : index.count;
    else this.main = (inBlock ? index.blockEnd(block) : index.count) - 1;
    // Every late entry behind this place is at or behind the key.
    this.late = index.lateAtKey(from.ts, from.ord) - (this.step === 1 ? 0 : 1);
    if (this.step === -1) while (this.late + 1 < lateCount && this.lateKeyIs(this.late + 1, from)) this.late++;
    const isBefore = (i: number): boolean => {
      const difference = (index.ts(i) - from.ts || index.ord(i) - from.ord) * this.step;
      return difference < 0 || (difference === 0 && !from.inclusive);
    };
    for (let i = this.nextMain(); i >= 0 && isBefore(i); i = this.nextMain()) this.main += this.step;
    for (let i = this.nextLate(); i >= 0 && isBefore(i); i = this.nextLate()) this.late += this.step;
  }

  /** The next entry's number; -1 at the end. */
  peek(): number {
    const main = this.nextMain();
    const late = this.nextLate();
    if (main < 0 || late < 0) return Math.max(main, late);
    const difference = this.index.ts(main) - this.index.ts(late) || this.index.ord(main) - this.index.ord(late);
    return difference * this.step < 0 ? main : late;
  }

  advance(): void {
    const next = this.peek();
    if (next < 0) return;
    if (this.index.isLate(next)) this.late += this.step;
    else this.main += this.step;
  }

  private nextMain(): number {
    const { index } = this;
    while (this.main >= 0 && this.main < index.count) {
      if (index.isLive(this.main) && !index.isLate(this.main)) return this.main;
      this.main += this.step;
    }
    return -1;
  }

  private nextLate(): number {
    const { entries, count } = this.index.lateEntries();
    while (this.late >= 0 && this.late < count) {
      if (this.index.isLive(entries[this.late])) return entries[this.late];
      this.late += this.step;
    }
    return -1;
  }

  private lateKeyIs(at: number, key: Key): boolean {
    const i = this.index.lateEntries().entries[at];
    return this.index.ts(i) === key.ts && this.index.ord(i) === key.ord;
  }
}
