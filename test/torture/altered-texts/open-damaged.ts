import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Directories } from "../../../memory-service/src/store/jsonl/directories.js";
import { type Fs, realFs } from "../../../memory-service/src/store/jsonl/fs.js";
import { type JsonlStore, openJsonlStore } from "../../../memory-service/src/store/jsonl/jsonl-store.js";
import { Log } from "../../../memory-service/src/store/jsonl/log.js";
import { readEntry } from "../../../memory-service/src/store/jsonl/stored-entry.js";
import { KINDS, type NewEntry } from "../../../memory-service/src/store/store.js";
import type { Damage } from "./damage.js";
import { keyOf, owner, type SampleLog } from "./sample-log.js";

/** What is on trial is what is read, not what lasts. */
const fs: Fs = { ...realFs, fsync: async () => {}, fdatasync: async () => {} };

export interface Verdict {
  /** Served, and never written. */
  readonly altered: number;
  /** Of moved bytes, served as a line of before Reverie: nothing tells them from one. Not among `altered`. */
  readonly mistaken: number;
  readonly wrong: readonly string[];
}

/** Opens the damaged log with the store's `Log` on real files, and reads every entry that it would serve. */
export async function openLog(sample: SampleLog, damage: Damage, directory: string): Promise<Verdict> {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "episodic.jsonl");
  writeFileSync(path, damage.bytes);
  const log = new Log("episodic", directory, { fs, directories: new Directories(fs), now: Date.now });
  await log.open();
  const served: Served[] = [];
  const { index } = log.state;
  for (let i = 0; i < index.count; i++) {
    const entry = index.isLive(i) ? readEntry(log, i) : undefined;
    if (entry !== undefined) served.push({ key: keyOf(entry), legacy: entry.seq === 0 });
  }
  const { tornTails } = log;
  await log.close();
  const verdict = judge(sample, damage, served);
  const lost = lostBytes(
    sample,
    damage,
    readFileSync(path),
    tornTails > 0 ? tornBytes(`${path}.torn`) : Buffer.alloc(0),
  );
  if (tornTails > 0) rmSync(`${path}.torn`);
  return lost === undefined ? verdict : { ...verdict, wrong: [...verdict.wrong, lost] };
}

/** The same through the whole store, which then stores one more entry and is opened again. */
export async function openStore(sample: SampleLog, damage: Damage, root: string): Promise<Verdict> {
  const directory = join(root, owner.kind, owner.id);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "episodic.jsonl"), damage.bytes);
  const options = { root, reserveBytes: 0 };
  const first = await openJsonlStore(options);
  const served = await list(first);
  const late: NewEntry = { id: "late", kind: "episodic", text: "stored behind the damage", ts: 1, meta: "" };
  await first.append(owner, [late]);
  await first.close();
  const second = await openJsonlStore(options);
  const again = await list(second);
  await second.close();
  rmSync(root, { recursive: true });
  const { altered, mistaken, wrong } = judge(sample, damage, served);
  const expected = [...served.map(({ key }) => key), keyOf(late)].sort();
  const keys = again.map(({ key }) => key).sort();
  const stays = expected.length === keys.length && keys.every((key, i) => key === expected[i]);
  return {
    altered,
    mistaken,
    wrong: stays ? wrong : [...wrong, `${damage.name}: something else is served after one more write`],
  };
}

interface Served {
  readonly key: string;
  /** Its line has no seq and no checksum. */
  readonly legacy: boolean;
}

async function list(store: JsonlStore): Promise<Served[]> {
  const page = await store.list(owner, { kinds: KINDS, order: "oldest", limit: 10_000, maxBytes: 1e9, minSeq: 0 });
  return page.entries.map((entry) => ({ key: keyOf(entry), legacy: entry.seq === 0 }));
}

function judge(
  { written, standing }: SampleLog,
  { name, from, to, moved }: Damage,
  served: readonly Served[],
): Verdict {
  const unknown = served.filter(({ key }) => !written.has(key));
  const altered = unknown.filter(({ legacy }) => !(moved && legacy)).map(({ key }) => key);
  const there = new Set(served.map(({ key }) => key));
  // The newline before a line, and the one behind it, are a part of it.
  const missing = standing.filter(({ key, at, end }) => (end < from || at > to) && !there.has(key));
  return {
    altered: altered.length,
    mistaken: unknown.length - altered.length,
    wrong: [
      ...altered.map((key) => `${name}: serves ${key.slice(0, 80)}, which nobody wrote`),
      ...missing.map(({ key }) => `${name}: ${key.slice(0, 40)} is not served, and was not touched`),
    ],
  };
}

/** Every damaged byte is in the log or was put aside, but for what an erase may take. */
function lostBytes({ erased }: SampleLog, { name, bytes }: Damage, log: Buffer, torn: Buffer): string | undefined {
  const kept = bytes.length - torn.length;
  if (!bytes.subarray(kept).equals(torn)) return `${name}: other bytes were put aside than were cut off`;
  if (log.length !== kept && !(log.length === kept + 1 && log[kept] === 0x0a))
    return `${name}: ${kept} bytes became ${log.length}`;
  if (bytes.subarray(0, kept).equals(log.subarray(0, kept))) return undefined;
  for (let at = 0; at < kept; at++) {
    const mayGo = log[at] === 0x0a && erased.some((range) => at >= range.at && at < range.at + range.len);
    if (log[at] !== bytes[at] && !mayGo) return `${name}: byte ${at} was changed`;
  }
  return undefined;
}

function tornBytes(path: string): Buffer {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return Buffer.concat(lines.map((line) => Buffer.from((JSON.parse(line) as { base64: string }).base64, "base64")));
}
