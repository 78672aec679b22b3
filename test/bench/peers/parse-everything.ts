import { closeSync, openSync, readSync } from "node:fs";
import type { Sample } from "../sample.js";

const CHUNK_BYTES = 2 ** 20;
const LF = 0x0a;

interface Line {
  readonly id?: unknown;
  readonly text?: unknown;
  readonly ts?: unknown;
  readonly meta?: unknown;
}

/** What a program without an index does: parses each line, keeps those that hold the needle, sorts, takes the newest. */
export function parseEverything(path: string, needle: string, k: number): Sample[] {
  const lowered = needle.toLowerCase();
  const found: (Line & { id: string; text: string; ts: number })[] = [];
  for (const line of readLines(path)) {
    const { id, text, ts, meta } = parse(line);
    if (typeof id !== "string" || typeof text !== "string" || !text.toLowerCase().includes(lowered)) continue;
    found.push({ id, text, ts: typeof ts === "number" ? ts : 0, meta });
  }
  // Sorting is stable: of equals, the later in the file comes first.
  const newest = found
    .reverse()
    .sort((a, b) => b.ts - a.ts)
    .slice(0, k);
  return newest.map(({ meta, ...entry }) => ({ ...entry, meta: meta === undefined ? "" : JSON.stringify(meta) }));
}

function parse(line: string): Line {
  try {
    return (JSON.parse(line) as Line | null) ?? {};
  } catch {
    return {};
  }
}

/** In chunks: a file may be longer than V8's longest string, 512 MiB. */
function* readLines(path: string): Generator<string> {
  const fd = openSync(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let rest = Buffer.alloc(0);
    for (let read = readSync(fd, chunk); read > 0; read = readSync(fd, chunk)) {
      const bytes = Buffer.concat([rest, chunk.subarray(0, read)]);
      const end = bytes.lastIndexOf(LF) + 1;
      for (const line of bytes.toString("utf8", 0, end).split("\n")) if (line !== "") yield line;
      rest = bytes.subarray(end);
    }
    if (rest.length > 0) yield rest.toString("utf8");
  } finally {
    closeSync(fd);
  }
}
