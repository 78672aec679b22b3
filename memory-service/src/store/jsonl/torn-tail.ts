import type { Fs } from "./fs.js";
import { appendKept } from "./kept-aside.js";

/** A `.torn` file that would pass this starts anew, and the one before is kept as `.torn.1`. */
const MAX_TORN_BYTES = 16 * 1024 * 1024;

export interface TornTail {
  /** Byte offset in the log. */
  readonly at: number;
  /** Epoch milliseconds. */
  readonly cutAtMs: number;
  readonly bytes: Buffer;
}

/** Puts a cut-off tail aside, durably, one JSON line a cut with its bytes in base64. */
export async function keepTornTail(fs: Fs, path: string, tail: TornTail): Promise<void> {
  const line = Buffer.from(
    `${JSON.stringify({ at: tail.at, cutAtMs: tail.cutAtMs, base64: tail.bytes.toString("base64") })}\n`,
  );
  const size = fs.lstatSync(path)?.size ?? 0;
  if (size > 0 && size + line.length > MAX_TORN_BYTES) await fs.rename(path, `${path}.1`);
  await appendKept(fs, path, line);
}

/** Cuts that the file at `path` keeps. */
export async function countTornTails(fs: Fs, path: string): Promise<number> {
  if (fs.lstatSync(path)?.isFile() !== true) return 0;
  const bytes = await fs.readFile(path);
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) lines++;
  return lines;
}
