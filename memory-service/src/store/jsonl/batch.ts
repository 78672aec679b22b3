import type { Kind } from "../store.js";
import type { Range } from "./line.js";
import type { Log } from "./log.js";

/** A batch takes no further change once it holds this much, bytes and lines. */
const BATCH_BYTES = 8 * 1024 * 1024;
const BATCH_LINES = 4096;

/** What one commit writes to one log. */
export class Part {
  readonly lines: Buffer[] = [];
  bytes = 0;
  readonly erase: Range[] = [];
  /** The newest (ts, ord) with this batch's entries. */
  maxTs: number;
  maxOrd: number;

  constructor(readonly log: Log) {
    this.maxTs = log.state.index.maxTs;
    this.maxOrd = log.state.index.maxOrd;
  }

  /** Where the next line will stand. */
  get offset(): number {
    return this.log.state.size + this.bytes;
  }

  /** Whether an entry is older than one before it in the file. */
  isLate(ts: number, ord: number): boolean {
    return ts < this.maxTs || (ts === this.maxTs && ord < this.maxOrd);
  }

  push(line: Buffer): void {
    this.lines.push(line);
    this.bytes += line.length;
  }
}

export interface BatchMark {
  readonly bytes: number;
  readonly hasHead: boolean;
  readonly touched: number;
  readonly applies: number;
  readonly parts: readonly {
    readonly part: Part;
    readonly lines: number;
    readonly bytes: number;
    readonly erase: number;
    readonly maxTs: number;
    readonly maxOrd: number;
  }[];
}

/** Changes that go to disk in one write and one sync a file. */
export class Batch {
  private readonly parts = new Map<Kind, Part>();
  /** Ids changed by this batch: a second change of one waits for the next batch, which sees the first. */
  readonly touched = new Set<string>();
  /** Run in order once all is durable. */
  readonly applies: (() => void)[] = [];
  bytes = 0;
  /** A new owner's first line is in it. */
  hasHead = false;

  get isFull(): boolean {
    return this.bytes >= BATCH_BYTES || this.applies.length >= BATCH_LINES;
  }

  part(log: Log): Part {
    let part = this.parts.get(log.kind);
    if (part === undefined) {
      part = new Part(log);
      this.parts.set(log.kind, part);
    }
    return part;
  }

  push(part: Part, line: Buffer): void {
    part.push(line);
    this.bytes += line.length;
  }

  /** What `backTo` needs to take later additions back. */
  mark(): BatchMark {
    const { bytes, hasHead } = this;
    const parts = [...this.parts.values()].map((part) => ({
      part,
      lines: part.lines.length,
      bytes: part.bytes,
      erase: part.erase.length,
      maxTs: part.maxTs,
      maxOrd: part.maxOrd,
    }));
    return { bytes, hasHead, parts, touched: this.touched.size, applies: this.applies.length };
  }

  backTo(mark: BatchMark): void {
    this.bytes = mark.bytes;
    this.hasHead = mark.hasHead;
    this.applies.length = mark.applies;
    for (const id of [...this.touched].slice(mark.touched)) this.touched.delete(id);
    for (const part of this.parts.values())
      if (!mark.parts.some((known) => known.part === part)) this.parts.delete(part.log.kind);
    for (const { part, lines, bytes, erase, maxTs, maxOrd } of mark.parts) {
      part.lines.length = lines;
      part.erase.length = erase;
      Object.assign(part, { bytes, maxTs, maxOrd });
    }
  }

  /** The logs to write to. */
  get written(): Part[] {
    return [...this.parts.values()].filter((part) => part.bytes > 0);
  }
}
