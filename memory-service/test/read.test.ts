import { describe, expect, it } from "vitest";
import { clear, forget, patchMeta } from "../src/domain/change.js";
import type { MemoryContext } from "../src/domain/context.js";
import { attach } from "../src/domain/owners.js";
import {
  type EntryPage,
  getEntry,
  type ListRequest,
  listEntries,
  type RecallRequest,
  recall,
  watch,
} from "../src/domain/read.js";
import { remember } from "../src/domain/remember.js";
import type { Kind, RecallSummary, StoredEntry } from "../src/store/store.js";
import { draft, never, owner, tempMemory } from "./temp-memory.js";

const query: RecallRequest = { text: "", kinds: [], k: 0, since: undefined, minSeq: 0 };

async function recalled(
  memory: MemoryContext,
  change: Partial<RecallRequest> = {},
): Promise<[string[], RecallSummary]> {
  const found = recall(memory, owner, { ...query, ...change }, never);
  const ids: string[] = [];
  for (;;) {
    const step = await found.next();
    if (step.done === true) return [ids, step.value];
    ids.push(...step.value.map((entry) => entry.id));
  }
}

async function filled(): Promise<MemoryContext> {
  const memory = await tempMemory();
  const kinds: Kind[] = ["episodic", "semantic", "working"];
  for (let i = 0; i < 30; i++) {
    const text = i % 10 === 3 ? `Straße ${i}` : `item ${i}`;
    await remember(memory, owner, draft(`e${i}`, text, { kind: kinds[i % 3], ts: 1_000 + i }));
  }
  return memory;
}

describe("recall", () => {
  it("finds the newest 20, or k of them up to 200", async () => {
    const memory = await filled();
    const [ids, summary] = await recalled(memory);
    expect(ids).toEqual(Array.from({ length: 20 }, (_, i) => `e${29 - i}`));
    expect(summary).toMatchObject({ returned: 20, truncated: true, corruptLinesSkipped: 0 });
    expect((await recalled(memory, { k: 3 }))[0]).toEqual(["e29", "e28", "e27"]);
    expect((await recalled(memory, { k: 1_000 }))[0].length).toBe(30);
    await expect(recalled(memory, { k: -1 })).rejects.toMatchObject({ reason: "FIELD_INVALID" });
  });

  it("finds text without regard to case and Unicode form, since a time, of some kinds", async () => {
    const memory = await filled();
    expect((await recalled(memory, { text: "STRASSE" }))[0]).toEqual(["e23", "e13", "e3"]);
    expect((await recalled(memory, { text: "straße", since: 1_013 }))[0]).toEqual(["e23", "e13"]);
    expect((await recalled(memory, { kinds: ["working"], k: 2 }))[0]).toEqual(["e29", "e26"]);
  });

  it("finds only what the config allows, and nothing where nothing asked for is allowed", async () => {
    const memory = await filled();
    await attach(memory, owner, { allowedKinds: ["working"], maxEpisodicBytes: 0, maxSemanticBytes: 0 }, false);
    expect((await recalled(memory, { k: 200 }))[0].length).toBe(10);
    const [ids, summary] = await recalled(memory, { kinds: ["episodic"] });
    expect([ids, summary.returned, summary.truncated]).toEqual([[], 0, false]);
  });

  it("reads an owner that doesn't exist as empty, unless a seq is asked for", async () => {
    const memory = await tempMemory();
    expect((await recalled(memory))[0]).toEqual([]);
    await expect(recalled(memory, { minSeq: 5 })).rejects.toMatchObject({ reason: "SEQ_NOT_REACHED" });
  });
});

describe("getEntry", () => {
  it("reads one of any kind, and says when there is none", async () => {
    const memory = await filled();
    expect((await getEntry(memory, owner, "e4", 0)).entry.text).toBe("item 4");
    await expect(getEntry(memory, owner, "zz", 0)).rejects.toMatchObject({
      reason: "ENTRY_NOT_FOUND",
      metadata: { id: "zz" },
    });
  });
});

describe("listEntries", () => {
  const first: ListRequest = { kinds: [], order: "newest", pageSize: 7, pageToken: "", minSeq: 0 };

  async function pages(memory: MemoryContext, request: ListRequest): Promise<EntryPage[]> {
    const found: EntryPage[] = [];
    let pageToken = "";
    do {
      const page = await listEntries(memory, owner, { ...request, pageToken });
      found.push(page);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return found;
  }
  const idsOf = (found: readonly EntryPage[]): string[] =>
    found.flatMap((page) => page.entries.map((entry) => entry.id));

  it("pages through everything once, either way round", async () => {
    const memory = await filled();
    const newest = idsOf(await pages(memory, first));
    expect(newest).toEqual(Array.from({ length: 30 }, (_, i) => `e${29 - i}`));
    expect(idsOf(await pages(memory, { ...first, order: "oldest" }))).toEqual([...newest].reverse());
    expect(idsOf(await pages(memory, { ...first, kinds: ["semantic"], pageSize: 3 })).length).toBe(10);
  });

  it("moves no page for what is stored or forgotten meanwhile", async () => {
    const memory = await filled();
    const page = await listEntries(memory, owner, first);
    await remember(memory, owner, draft("late", "x", { ts: 9_000 }));
    await forget(memory, owner, "e23");
    const next = await listEntries(memory, owner, { ...first, pageToken: page.nextPageToken });
    expect(next.entries.map((entry) => entry.id)).toEqual(["e22", "e21", "e20", "e19", "e18", "e17", "e16"]);
  });

  it("takes a token for its own owner, filter and order only", async () => {
    const memory = await filled();
    const { nextPageToken: pageToken } = await listEntries(memory, owner, first);
    const reject = { reason: "PAGE_TOKEN_INVALID" };
    await expect(listEntries(memory, owner, { ...first, pageToken, order: "oldest" })).rejects.toMatchObject(reject);
    await expect(listEntries(memory, owner, { ...first, pageToken, kinds: ["working"] })).rejects.toMatchObject(reject);
    const bob = { kind: "agent", id: "bob" } as const;
    await expect(listEntries(memory, bob, { ...first, pageToken })).rejects.toMatchObject(reject);
  });

  it("ends a page before 3 MiB", async () => {
    const memory = await tempMemory();
    for (let i = 0; i < 8; i++) await remember(memory, owner, draft(`big${i}`, "x".repeat(900_000)));
    const found = await pages(memory, { ...first, pageSize: 500 });
    expect(found.map((page) => page.entries.length)).toEqual([3, 3, 2]);
  });
});

describe("changes", () => {
  it("forget says how many entries it erased", async () => {
    const memory = await filled();
    expect((await forget(memory, owner, "e5")).copies).toBe(1);
    expect((await forget(memory, owner, "e5")).copies).toBe(0);
    await expect(getEntry(memory, owner, "e5", 0)).rejects.toMatchObject({ reason: "ENTRY_NOT_FOUND" });
  });

  it("clear takes the kinds named, and everything only when asked", async () => {
    const memory = await filled();
    await expect(clear(memory, owner, [], false)).rejects.toMatchObject({ reason: "FIELD_INVALID" });
    await expect(clear(memory, owner, ["working"], true)).rejects.toMatchObject({ reason: "FIELD_INVALID" });
    expect((await clear(memory, owner, ["working"], false)).removed).toBe(10);
    expect((await clear(memory, owner, [], true)).removed).toBe(20);
    expect((await recalled(memory))[0]).toEqual([]);
  });

  it("patchMeta changes keys and leaves the text, the time and the retry rule as they were", async () => {
    const memory = await tempMemory();
    const sent = draft("a", "x", { meta: '{"keep":1.0,"drop":2}', ts: 7 });
    await remember(memory, owner, sent);
    const { entry, copies } = await patchMeta(memory, owner, "a", '{"new": true}', ["drop"]);
    expect([copies, entry?.meta, entry?.text, entry?.ts]).toEqual([1, '{"keep":1.0,"new":true}', "x", 7]);
    const again = await remember(memory, owner, sent);
    expect([again.already, again.entry.meta]).toEqual([true, '{"keep":1.0,"new":true}']);
    expect(await patchMeta(memory, owner, "zz", '{"a":1}', [])).toMatchObject({ copies: 0 });
    await expect(patchMeta(memory, owner, "a", "[]", [])).rejects.toMatchObject({ reason: "META_INVALID" });
  });

  it("are seen by a watch, of the kinds asked for, deletions too", async () => {
    const memory = await tempMemory();
    await remember(memory, owner, draft("a"));
    const stop = new AbortController();
    const steps = watch(memory, owner, { kinds: ["episodic"], afterSeq: 0 }, stop.signal);
    const seen: string[] = [];
    let cursor = 0;
    const until = async (count: number): Promise<void> => {
      while (seen.length < count) {
        const step = await steps.next();
        if (step.done === true) return;
        cursor = step.value.cursor;
        for (const change of step.value.changes) {
          seen.push("upserted" in change ? change.upserted.id : `-${change.deleted.id}`);
        }
      }
    };
    await until(1);
    await remember(memory, owner, draft("w", "x", { kind: "working" }));
    const { entry } = await remember(memory, owner, draft("b"));
    await until(2);
    const { seq } = await forget(memory, owner, "a");
    await until(3);
    expect(seen).toEqual(["a", "b", "-a"]);
    expect(cursor).toBe(seq);
    expect(seq).toBeGreaterThan((entry as StoredEntry).seq);
    stop.abort();
    await steps.next().catch(() => undefined);
  });
});
