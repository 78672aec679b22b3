import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type JsonlStore, type JsonlStoreOptions, openJsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import {
  KINDS,
  type Kind,
  type ListQuery,
  type NewEntry,
  type OwnerRef,
  type RecallSummary,
  type StoredEntry,
  type WatchChange,
} from "../../src/store/store.js";

export const agent: OwnerRef = { kind: "agent", id: "x" };
export const never = new AbortController().signal;

/** A directory that goes when the test ends. */
export function temporaryRoot(): string {
  const root = mkdtempSync(join(tmpdir(), "reverie-store-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

/** A store that closes when the test ends. */
export async function openStore(options: Partial<JsonlStoreOptions> = {}): Promise<JsonlStore> {
  const store = await openJsonlStore({ root: options.root ?? temporaryRoot(), reserveBytes: 0, ...options });
  onTestFinished(() => store.close());
  return store;
}

export function entry(id: string, text: string, more: Partial<NewEntry> = {}): NewEntry {
  return { id, kind: "episodic", text, ts: 1_700_000_000_000, meta: "", ...more };
}

export async function recallAll(
  store: JsonlStore,
  text: string,
  more: { k?: number; kinds?: readonly Kind[]; since?: number; owner?: OwnerRef } = {},
): Promise<{ entries: StoredEntry[]; summary: RecallSummary }> {
  const { owner = agent, kinds = KINDS, k = 200, since } = more;
  const answer = store.recall(owner, { text, kinds, k, minSeq: 0, ...(since !== undefined && { since }) }, never);
  const entries: StoredEntry[] = [];
  for (;;) {
    const next = await answer.next();
    if (next.done) return { entries, summary: next.value };
    entries.push(...next.value);
  }
}

export async function listAll(
  store: JsonlStore,
  query: Partial<ListQuery> = {},
  owner = agent,
): Promise<StoredEntry[]> {
  const entries: StoredEntry[] = [];
  let after: ListQuery["after"];
  do {
    const page = await store.list(owner, {
      kinds: KINDS,
      order: "newest",
      limit: 100,
      maxBytes: 3 * 1024 * 1024,
      minSeq: 0,
      ...query,
      ...(after && { after }),
    });
    entries.push(...page.entries);
    after = page.next;
  } while (after !== undefined);
  return entries;
}

export async function exportText(store: JsonlStore, kinds: readonly Kind[] = KINDS, owner = agent): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.export(owner, kinds, never)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** What is new after a cursor, up to now. */
export async function changesAfter(
  store: JsonlStore,
  afterSeq: number,
  owner = agent,
): Promise<{ changes: WatchChange[]; cursor: number }> {
  const changes: WatchChange[] = [];
  for await (const step of store.watch(owner, { kinds: KINDS, afterSeq, idleMs: 60_000 }, never)) {
    if (step.changes.length === 0) return { changes, cursor: step.cursor };
    changes.push(...step.changes);
  }
  throw new Error("a watch ended by itself");
}

/** What a reader that knows nothing of us sees: objects with a string id and text. */
export function naiveRead(root: string, owner = agent): { id: string; text: string; kind: string }[] {
  const directory = join(root, owner.kind, owner.id);
  const found: { id: string; text: string; kind: string }[] = [];
  let names: string[] = [];
  try {
    names = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
  } catch {
    return found;
  }
  for (const name of names) {
    for (const line of readFileSync(join(directory, name), "utf8").split("\n")) {
      if (line.trim() === "") continue;
      const parsed = JSON.parse(line) as Record<string, unknown>;
      if (typeof parsed.id === "string" && typeof parsed.text === "string") {
        found.push({ id: parsed.id, text: parsed.text, kind: name.slice(0, -".jsonl".length) });
      }
    }
  }
  return found;
}
