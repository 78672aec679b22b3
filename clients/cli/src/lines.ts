import { Buffer } from "node:buffer";

const LF = 0x0a;

/**
 * Lines of bytes that come cut anywhere, without their LF; the last one may lack it. A line over `maxBytes` comes in
 * parts: `whole` is false, and `ends` says which is its last.
 */
export interface Line {
  readonly bytes: Buffer;
  readonly whole: boolean;
  readonly ends: boolean;
}

export async function* splitLines(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<Line, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  let whole = true;
  const take = (ends: boolean): Line => {
    const line = { bytes: Buffer.concat(parts), whole: whole && ends, ends };
    parts = [];
    size = 0;
    whole = ends;
    return line;
  };
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, from)) {
      parts.push(bytes.subarray(from, at));
      from = at + 1;
      yield take(true);
    }
    parts.push(bytes.subarray(from));
    size += bytes.length - from;
    if (size > maxBytes) yield take(false);
  }
  if (size > 0) yield take(true);
}
