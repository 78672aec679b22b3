import type { ExportSummary, Kind } from "../store.js";
import { encodeCopy } from "./line.js";
import type { Log } from "./log.js";
import type { Owner } from "./owner.js";

/** What a message holds before it is sent. */
const MESSAGE_BYTES = 64 * 1024;
/** A longer line goes on in the next message. */
const LONGEST_PIECE_BYTES = 1024 * 1024;

/** Live lines of each kind by ord. What is forgotten meanwhile may be missing; what is patched is not. */
export async function* exportLines(
  owner: Owner,
  kinds: readonly Kind[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, ExportSummary> {
  const logs = owner.logs.filter((log) => kinds.includes(log.kind));
  const seq = owner.reportedSeq;
  let entries = 0;
  let bytes = 0;
  for (const log of logs) {
    let pieces: Buffer[] = [];
    let held = 0;
    for (const lines of new LogExport(log, seq)) {
      entries++;
      pieces.push(lines);
      held += lines.length;
      if (held < MESSAGE_BYTES) continue;
      const message = Buffer.concat(pieces, held);
      pieces = [];
      held = 0;
      for (let at = 0; at < message.length; at += LONGEST_PIECE_BYTES) {
        const piece = message.subarray(at, at + LONGEST_PIECE_BYTES);
        bytes += piece.length;
        yield piece;
      }
      // A consumer that keeps up would otherwise keep everybody else waiting.
      await new Promise(setImmediate);
      signal.throwIfAborted();
    }
    if (held > 0) {
      bytes += held;
      yield Buffer.concat(pieces, held);
    }
  }
  return { entries, bytes, seq, corruptLinesSkipped: logs.reduce((sum, log) => sum + log.state.corruptLines, 0) };
}

/** The lines of one log, each with its newline; others may change the log between two of them. */
class LogExport implements Iterable<Buffer> {
  constructor(
    private readonly log: Log,
    /** Entries first stored after this are left out. */
    private readonly lastOrd: number,
  ) {}

  *[Symbol.iterator](): Generator<Buffer> {
    let done = -Infinity;
    for (;;) {
      const { state } = this.log;
      const order = state.index.byOrd();
      // Entry numbers and ords are taken at once: entries patched later have other numbers, but the same ord.
      let replaced = false;
      for (const i of order) {
        const ord = state.index.ord(i);
        if (ord <= done) continue;
        if (ord > this.lastOrd) return;
        const line = this.line(i, ord);
        if (line !== undefined) {
          yield line;
          done = ord;
        }
        if (this.log.state !== state) {
          replaced = true;
          break;
        }
      }
      if (!replaced) return;
    }
  }

  private line(i: number, ord: number): Buffer | undefined {
    const { index } = this.log.state;
    const now = index.isLive(i)
      ? i
      : index.findLike(i).find((other) => index.isLive(other) && index.ord(other) === ord);
    if (now === undefined) return undefined;
    const found = this.log.entry(now);
    if (found === undefined) return undefined;
    const { line, bytes } = found;
    if (line.was === undefined) return Buffer.concat([bytes, NEWLINE]);
    return encodeCopy(bytes, line, { kind: this.log.kind, ord, late: index.isLate(now) });
  }
}

const NEWLINE = Buffer.from("\n");
