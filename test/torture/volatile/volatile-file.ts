import { closeSync, ftruncateSync, writeSync } from "node:fs";
import { between, type Random, shuffle } from "../../lib/random.js";

/** How the pretended kernel and disk behave. */
export interface DiskHabits {
  readonly random: Random;
  /** How likely a change reaches the disk before anybody asks for it, in part or whole. 0 to 1. */
  readonly earlyChance: number;
  /** The longest wait before each step of a sync, milliseconds: cuts fall between the steps. 0: none. */
  readonly stepMs: number;
}

type Change = { readonly at: number; readonly bytes: Buffer } | { readonly truncate: number };

/** One file: its bytes as processes see them, and what of them the disk doesn't have yet. */
export class VolatileFile {
  size: number;
  private content: Buffer;
  private pending: Change[] = [];
  private syncing: Promise<void> = Promise.resolve();
  private flushing = false;
  private off = false;

  constructor(
    /** The real file, which holds what is durable. */
    readonly fd: number,
    durable: Buffer,
    private readonly habits: DiskHabits,
  ) {
    this.content = durable;
    this.size = durable.length;
  }

  read(into: Uint8Array, offset: number, length: number, position: number): number {
    const end = Math.min(this.size, position + length);
    if (end <= position) return 0;
    into.set(this.content.subarray(position, end), offset);
    return end - position;
  }

  bytes(): Buffer {
    return Buffer.from(this.content.subarray(0, this.size));
  }

  write(bytes: Uint8Array, at: number): number {
    if (bytes.length === 0) return 0;
    const copy = Buffer.from(bytes);
    this.resize(Math.max(this.size, at + copy.length));
    copy.copy(this.content, at);
    this.add({ at, bytes: copy });
    return copy.length;
  }

  truncate(length: number): void {
    this.resize(length);
    this.add({ truncate: length });
  }

  /** Puts all that was changed until now on the disk. */
  sync(): Promise<void> {
    // Syncs of one file go one after the other, so that an older byte never replaces a newer one.
    this.syncing = this.syncing.then(() => this.flush());
    return this.syncing;
  }

  /** Nothing more reaches the disk. */
  powerOff(): void {
    this.off = true;
    closeSync(this.fd);
  }

  private resize(size: number): void {
    if (size > this.content.length) {
      const larger = Buffer.alloc(Math.max(size, this.content.length * 2, 4096));
      this.content.copy(larger, 0, 0, this.size);
      this.content = larger;
    } else if (size < this.size) {
      this.content.fill(0, size, this.size);
    }
    this.size = size;
  }

  private add(change: Change): void {
    const alone = this.pending.length === 0 && !this.flushing && !this.off;
    this.pending.push(change);
    // Only what no other change waits before: the disk never goes back to older bytes.
    if (alone && this.habits.random() < this.habits.earlyChance) this.writeBackSomeOf(change);
  }

  private writeBackSomeOf(change: Change): void {
    if ("truncate" in change) {
      ftruncateSync(this.fd, change.truncate);
      return;
    }
    // Any part, at its place: where the size is ahead of the data, the disk has NULs.
    const from = between(this.habits.random, 0, change.bytes.length);
    const to = between(this.habits.random, from, change.bytes.length);
    writeSync(this.fd, change.bytes, from, to - from, change.at + from);
  }

  private async flush(): Promise<void> {
    const changes = this.pending;
    this.pending = [];
    this.flushing = true;
    for (const change of changes) {
      if ("truncate" in change) {
        await pause(this.habits);
        if (this.off) return;
        ftruncateSync(this.fd, change.truncate);
        continue;
      }
      for (const [from, to] of pieces(change.bytes.length, this.habits.random)) {
        await pause(this.habits);
        if (this.off) return;
        writeSync(this.fd, change.bytes, from, to - from, change.at + from);
      }
    }
    this.flushing = false;
  }
}

/** Cuts a length into one to three ranges, in any order: so may pages reach the disk. */
function pieces(length: number, random: Random): [number, number][] {
  const cuts = [0, between(random, 0, length), between(random, 0, length), length].sort((a, b) => a - b);
  const ranges = cuts.slice(1).map((to, i): [number, number] => [cuts[i], to]);
  return shuffle(
    random,
    ranges.filter(([from, to]) => to > from),
  );
}

export async function pause({ random, stepMs }: DiskHabits): Promise<void> {
  if (stepMs > 0) await new Promise((resolve) => setTimeout(resolve, random() * stepMs));
}
