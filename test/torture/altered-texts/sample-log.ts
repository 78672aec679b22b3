import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type JsonlStore, openJsonlStore } from "../../../memory-service/src/store/jsonl/jsonl-store.js";
import { decodeLine, metaOf } from "../../../memory-service/src/store/jsonl/line.js";
import type { NewEntry, OwnerRef } from "../../../memory-service/src/store/store.js";
import { between, pick, type Random } from "../../lib/random.js";

export const owner: OwnerRef = { kind: "agent", id: "x" };

/** Where an entry that is served stands in the log, without its newline. */
export interface Standing {
  readonly key: string;
  readonly at: number;
  readonly end: number;
}

/** A log, and what may be served of it once it is damaged. */
export interface SampleLog {
  readonly bytes: Buffer;
  /** Every version of every entry that was ever written. */
  readonly written: ReadonlySet<string>;
  readonly standing: readonly Standing[];
  /** What was replaced: an opening may erase these again. */
  readonly erased: readonly { readonly at: number; readonly len: number }[];
}

/** All of an entry that must not change. */
export function keyOf({ id, kind, text, ts, meta }: NewEntry): string {
  return JSON.stringify([id, kind, text, ts, meta]);
}

const SHORT = ["wörter mit ß, ", "слова, ", "言葉、", "👩‍👩‍👧 ", "\u2028 "];
const LONG = ["plain words, ", 'a "quote" and a \\ ', "line\nbreak "];
/** Objects in metas that would be entries if they stood in lines of their own. */
const METAS = ["", '{"n":1}', '{"inner":{"id":"e-1","text":"never an entry"}}', '{"list":[{"id":"e-2","text":"x"}]}'];

/** A log of at least this many bytes, of a real store: appends, patches, erased entries, tombstones. */
export async function sampleLog(root: string, size: number, random: Random): Promise<SampleLog> {
  const store = await openJsonlStore({ root, reserveBytes: 0, durability: "none", compactMinBytes: 1e9 });
  const written = new Set<string>();
  const path = join(root, owner.kind, owner.id, "episodic.jsonl");
  for (let i = 0, held = 0; held < size; i++) {
    const text =
      i % 3 === 0
        ? pick(random, SHORT).repeat(between(random, 1, 9))
        : pick(random, LONG).repeat(between(random, 1, 150));
    const ts = 1_700_000_000_000 + between(random, -5, i);
    const entry: NewEntry = { id: `e-${i}`, kind: "episodic", text, ts, meta: pick(random, METAS) };
    written.add(keyOf(entry));
    held += (await change(store, entry, i, written)) + Buffer.byteLength(JSON.stringify(entry));
  }
  await store.close();
  return readSample(readFileSync(path), written);
}

async function change(store: JsonlStore, entry: NewEntry, i: number, written: Set<string>): Promise<number> {
  await store.append(owner, [entry]);
  if (i % 7 === 3) {
    const meta = `{"patched":${i}}`;
    written.add(keyOf({ ...entry, meta }));
    await store.patch(owner, entry.id, () => meta);
    return Buffer.byteLength(JSON.stringify(entry));
  }
  if (i % 9 === 5) await store.forget(owner, `e-${i - 2}`);
  return 0;
}

/** The same entries as an older writer spelled them, without seq and checksum: nothing tells that one was altered. */
export function withoutChecksums({ bytes, written }: SampleLog): SampleLog {
  const lines = bytes.toString().split("\n").filter(Boolean);
  const legacy = lines
    .filter((line) => line.startsWith('{"id"'))
    .map((line) => `${line.replace(/,"seq":\d+[^\n]*$/, "")}}\n`);
  return readSample(Buffer.from(legacy.join("")), written);
}

function readSample(bytes: Buffer, written: ReadonlySet<string>): SampleLog {
  const standing: Standing[] = [];
  const erased: { at: number; len: number }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0x0a, at);
    const line = bytes.subarray(at, end);
    const decoded = decodeLine(line);
    if ((decoded.type === "entry" || decoded.type === "forget") && decoded.was !== undefined) erased.push(decoded.was);
    if (decoded.type === "entry") {
      const { id, text, ts } = decoded;
      const key = keyOf({ id, kind: "episodic", text, ts, meta: metaOf(line, decoded) });
      if (!written.has(key)) throw new Error(`the sample holds ${id} as nobody wrote it`);
      standing.push({ key, at, end });
    }
    at = end + 1;
  }
  return { bytes, written, standing, erased };
}
