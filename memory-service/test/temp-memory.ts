import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { MemoryContext } from "../src/domain/context.js";
import type { EntryDraft } from "../src/domain/entry.js";
import { openJsonlStore } from "../src/store/jsonl/jsonl-store.js";
import type { OwnerConfig, OwnerRef } from "../src/store/store.js";

export const owner: OwnerRef = { kind: "agent", id: "alice" };
export const allKinds: OwnerConfig = {
  allowedKinds: ["episodic", "semantic", "working"],
  maxEpisodicBytes: 0,
  maxSemanticBytes: 0,
};
export const never = new AbortController().signal;

export interface TempMemory extends MemoryContext {
  readonly root: string;
}

/** The domain's context over files in a directory that goes away with the test. */
export async function tempMemory(defaults: OwnerConfig = allKinds): Promise<TempMemory> {
  const root = await mkdtemp(join(tmpdir(), "reverie-domain-"));
  const store = await openJsonlStore({
    root,
    durability: "none",
    syncIntervalMs: 1_000,
    defaults,
    trashRetentionMs: 86_400_000,
    maxOpenOwners: 100,
  });
  onTestFinished(async () => {
    await store.close();
    await rm(root, { recursive: true, force: true });
  });
  return { store, defaults, now: Date.now, root };
}

export function draft(id: string, text = `text of ${id}`, rest: Partial<EntryDraft> = {}): EntryDraft {
  return { id, kind: "episodic", text, meta: "", ts: undefined, ...rest };
}

export async function all<T>(items: AsyncIterable<readonly T[]>): Promise<T[]> {
  const found: T[] = [];
  for await (const batch of items) found.push(...batch);
  return found;
}
