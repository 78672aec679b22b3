import type { Fs } from "./fs.js";

/** Read at once. */
const CHUNK_BYTES = 1024 * 1024;
/** A line longer than this is not looked at: bad, kept, skipped. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024;

export interface LogLine {
  /** Counted from 1, with all blank lines. */
  readonly line: number;
  /** Byte offset in the log. */
  readonly at: number;
  /** Bytes, without the newline. */
  readonly length: number;
  /** Valid until the next line is asked for; undefined for a line over 64 MiB. */
  readonly bytes: Buffer | undefined;
  /** False for what stands behind the last newline. */
  readonly ended: boolean;
}

/**
 * The first `size` bytes of a file, line by line; never more than one line of it is in memory. Of empty lines in a row,
 * such as what is left of an erased line, only the last is given.
 */
export function* logLines(fs: Pick<Fs, "readSync">, fd: number, size: number): Generator<LogLine, void> {
  let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let held = 0;
  // Where the buffer begins in the file, and how much of its first line came before.
  let start = 0;
  let oversized = 0;
  let line = 0;
  for (let at = 0; at < size; ) {
    if (held === buffer.length) {
      if (held >= MAX_LINE_BYTES) {
        oversized += held;
        start += held;
        held = 0;
      } else {
        const larger = Buffer.allocUnsafe(buffer.length * 2);
        buffer.copy(larger, 0, 0, held);
        buffer = larger;
      }
    }
    const got = fs.readSync(fd, buffer, held, Math.min(buffer.length - held, size - at), at);
    if (got === 0) break;
    at += got;
    const end = held + got;
    let from = 0;
    for (
      let newline = buffer.indexOf(0x0a, held);
      newline >= 0 && newline < end;
      newline = buffer.indexOf(0x0a, from)
    ) {
      line++;
      if (oversized > 0) {
        yield { line, at: start - oversized, length: oversized + newline, bytes: undefined, ended: true };
        oversized = 0;
      } else if (newline > from) {
        yield { line, at: start + from, length: newline - from, bytes: buffer.subarray(from, newline), ended: true };
      } else {
        let last = newline;
        while (last + 1 < end && buffer[last + 1] === 0x0a) last++;
        line += last - newline;
        newline = last;
        yield { line, at: start + last, length: 0, bytes: buffer.subarray(last, last), ended: true };
      }
      from = newline + 1;
    }
    buffer.copyWithin(0, from, end);
    held = end - from;
    start += from;
  }
  line++;
  if (oversized > 0) yield { line, at: start - oversized, length: oversized + held, bytes: undefined, ended: false };
  else if (held > 0) yield { line, at: start, length: held, bytes: buffer.subarray(0, held), ended: false };
}
