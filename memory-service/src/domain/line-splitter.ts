const NEWLINE = 0x0a;
const FIRST_CAPACITY = 4096;

/** A line without its newline; undefined in place of one that is too long. */
export type SplitLine = Buffer | undefined;

/** Cuts chunks of bytes into lines at 0x0A. Holds at most one line of `maxBytes`, whatever comes. */
export class LineSplitter {
  private readonly maxBytes: number;
  // The beginning of a line that goes on in the next chunk: the first `size` bytes, unless it is too long already.
  private kept = Buffer.alloc(0);
  private size = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** The lines that end in this chunk; they are good until the next call. */
  *push(chunk: Uint8Array): Generator<SplitLine> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) break;
      yield this.line(chunk.subarray(start, end));
      start = end + 1;
    }
    this.keep(chunk.subarray(start));
  }

  /** What stands after the last newline, if anything. */
  *end(): Generator<SplitLine> {
    if (this.size > 0) yield this.line(new Uint8Array(0));
  }

  private line(rest: Uint8Array): SplitLine {
    if (this.size === 0) {
      return rest.length > this.maxBytes ? undefined : Buffer.from(rest.buffer, rest.byteOffset, rest.byteLength);
    }
    this.keep(rest);
    const { size } = this;
    this.size = 0;
    return size > this.maxBytes ? undefined : this.kept.subarray(0, size);
  }

  private keep(part: Uint8Array): void {
    const size = this.size + part.length;
    if (size > this.maxBytes) this.kept = Buffer.alloc(0);
    else {
      if (size > this.kept.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(size, 2 * this.kept.length, FIRST_CAPACITY));
        this.kept.copy(larger, 0, 0, this.size);
        this.kept = larger;
      }
      this.kept.set(part, this.size);
    }
    this.size = size;
  }
}
