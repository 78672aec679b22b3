import { lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type CheckOptions, type CheckSummary, checkDataDirectory, type Finding } from "../../src/check.js";
import type { JsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import { openJsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import type { NewEntry, OwnerRef } from "../../src/store/store.js";
import { agent, entry, listAll } from "./support.js";

export interface Checked {
  readonly findings: Finding[];
  readonly summary: CheckSummary;
}

export async function check(dataDir: string, options: Partial<CheckOptions> = {}): Promise<Checked> {
  const findings: Finding[] = [];
  const run = checkDataDirectory({ dataDir, ...options });
  for (;;) {
    const step = await run.next();
    if (step.done) return { findings, summary: step.value };
    findings.push(step.value);
  }
}

export const codes = ({ findings }: Checked): string[] => findings.map(({ problem }) => problem);
export const problemsOf = ({ findings }: Checked): string[] =>
  findings.filter(({ severity }) => severity === "problem").map(({ problem }) => problem);

/** Runs with a store that is open on the directory, and closes it. */
export async function withStore<T>(root: string, run: (store: JsonlStore) => Promise<T>): Promise<T> {
  const store = await openJsonlStore({ root, reserveBytes: 0 });
  try {
    return await run(store);
  } finally {
    await store.close();
  }
}

export function appendAll(store: JsonlStore, entries: readonly NewEntry[], owner: OwnerRef = agent): Promise<unknown> {
  return store.append(owner, entries);
}

/** A directory with an owner of these entries in its episodic log. */
export async function makeOwner(root: string, ids: readonly string[], more: Partial<NewEntry> = {}): Promise<void> {
  await withStore(root, (store) =>
    appendAll(
      store,
      ids.map((id) => entry(id, `text of ${id}`, more)),
    ),
  );
}

export const served = (root: string, owner: OwnerRef = agent): Promise<string[]> =>
  withStore(root, async (store) => (await listAll(store, {}, owner)).map(({ id }) => id).sort());

export const logOf = (root: string, kind = "episodic", owner: OwnerRef = agent): string =>
  join(root, owner.kind, owner.id, `${kind}.jsonl`);

/** Replaces bytes of a log in place, as a disk would. */
export function alter(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, "latin1")), "latin1");
}

/** Everything below a directory that a writer could change: names, kinds, modes, bytes, times. */
export function tree(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  const names = readdirSync(root, { recursive: true }) as string[];
  for (const path of [root, ...names.map((name) => join(root, name))]) {
    const stat = lstatSync(path);
    const bytes = stat.isFile() ? readFileSync(path, "latin1") : "";
    found[relative(root, path)] = [stat.mode, stat.size, stat.mtimeMs, stat.ctimeMs, stat.ino, bytes].join(" ");
  }
  return found;
}

interface KeptRecord {
  readonly at: number;
  readonly base64: string;
  readonly line?: number;
  readonly when?: number;
  readonly problem?: string;
}

/** What the `.torn` or `.quarantine` files of a log keep, oldest first. */
export function kept(log: string, suffix: "torn" | "quarantine"): (KeptRecord & { readonly bytes: Buffer })[] {
  const directory = join(log, "..");
  const name = `${log.slice(directory.length + 1)}.${suffix}`;
  const number = (file: string): number => Number(file.slice(name.length + 1)) || Infinity;
  return readdirSync(directory)
    .filter((file) => file === name || /^\.\d+$/.test(file.startsWith(name) ? file.slice(name.length) : ""))
    .sort((a, b) => number(a) - number(b))
    .flatMap((file) => readFileSync(join(directory, file), "utf8").split("\n"))
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as KeptRecord)
    .map((record) => ({ ...record, bytes: Buffer.from(record.base64, "base64") }));
}
