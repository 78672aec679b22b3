import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { splitLines } from "../lines.js";

/** Longer lines are refused by the service; they pass through as they are. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const BATCH_BYTES = 256 * 1024;
const LF = Buffer.from("\n");
/** How the service writes a line: nothing to look for behind it. */
const HAS_ID = /^\{"id":"[^"]/;

/**
 * JSONL in which each memory has an id, so that sending it again stores nothing twice: a line without one gets
 * `import-<16 hexadecimal digits>` of its bytes, with `-2`, `-3`… where the same line comes again.
 */
export async function* withIds(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const seen = new Map<string, number>();
  let batch: Buffer[] = [];
  let size = 0;
  for await (const { bytes, whole, ends } of splitLines(chunks, MAX_LINE_BYTES)) {
    const line = whole ? withId(bytes, seen) : bytes;
    batch.push(line);
    if (ends) batch.push(LF);
    size += line.length + 1;
    if (size < BATCH_BYTES) continue;
    yield Buffer.concat(batch);
    batch = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(batch);
}

function withId(line: Buffer, seen: Map<string, number>): Buffer {
  if (HAS_ID.test(line.toString("latin1", 0, 8))) return line;
  const text = line
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .trim();
  if (!text.startsWith("{") || !lacksId(text)) return line;
  const digits = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const times = (seen.get(digits) ?? 0) + 1;
  seen.set(digits, times);
  const id = `import-${digits}${times === 1 ? "" : `-${times}`}`;
  return Buffer.from(`{"id":"${id}",${text.slice(1)}`);
}

/** Whether it is a memory without an id. What is no memory, or no JSON, the service passes over or refuses. */
function lacksId(text: string): boolean {
  try {
    const value = JSON.parse(text) as { id?: unknown; text?: unknown };
    return value.id === undefined && typeof value.text === "string";
  } catch {
    return false;
  }
}
