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
  readonly wrong: readonly string[];
}

/** Opens the damaged log with the store's `Log` on real files, and reads every entry that it would serve. */
export async function openLog(sample: SampleLog, damage: Damage, directory: string): Promise<Verdict> {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "episodic.jsonl");
  writeFileSync(path, damage.bytes);
  const log = new Log("episodic", directory, { fs, directories: new Directories(fs), now: Date.now });
  await log.open();
  const served: string[] = [];
  const { index } = log.state;
  for (let i = 0; i < index.count; i++) {
    const entry = index.isLive(i) ? readEntry(log, i) : undefined;
    if (entry !== undefined) served.push(keyOf(entry));
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
  const { altered, wrong } = judge(sample, damage, served);
  const expected = [...served, keyOf(late)].sort();
  const stays = expected.length === again.length && again.sort().every((key, i) => key === expected[i]);
  return {
    altered,
    wrong: stays ? wrong : [...wrong, `${damage.name}: something else is served after one more write`],
  };
}

async function list(store: JsonlStore): Promise<string[]> {
  const page = await store.list(owner, { kinds: KINDS, order: "oldest", limit: 10_000, maxBytes: 1e9, minSeq: 0 });
  return page.entries.map(keyOf);
}

function judge({ written, standing }: SampleLog, { name, from, to }: Damage, served: readonly string[]): Verdict {
  const altered = served.filter((key) => !written.has(key));
  const there = new Set(served);
  // The newline before a line, and the one behind it, are a part of it.
  const missing = standing.filter(({ key, at, end }) => (end < from || at > to) && !there.has(key));
  return {
    altered: altered.length,
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
