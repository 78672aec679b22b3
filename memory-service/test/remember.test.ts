import { describe, expect, it } from "vitest";
import { forget } from "../src/domain/change.js";
import type { EntryDraft } from "../src/domain/entry.js";
import { attach } from "../src/domain/owners.js";
import { getEntry } from "../src/domain/read.js";
import { remember } from "../src/domain/remember.js";
import { rememberMany } from "../src/domain/remember-many.js";
import { draft, owner, tempMemory } from "./temp-memory.js";

async function* stream<T>(...batches: T[]): AsyncGenerator<T> {
  yield* batches;
}

const many = (from: number, count: number, rest: Partial<EntryDraft> = {}): EntryDraft[] =>
  Array.from({ length: count }, (_, index) => draft(`e${from + index}`, `text ${from + index}`, rest));

describe("remember", () => {
  it("stores what was sent and answers it with the owner's seq", async () => {
    const memory = await tempMemory();
    const sent = draft("a", "Hello\u0000 ß", { meta: '{ "n": 9007199254740993 }', ts: 5 });
    const { entry, seq, already, droppedByCaps } = await remember(memory, owner, sent);
    expect(entry).toMatchObject({
      id: "a",
      kind: "episodic",
      text: "Hello\u0000 ß",
      ts: 5,
      meta: '{"n":9007199254740993}',
    });
    expect([already, droppedByCaps, entry.seq]).toEqual([false, 0, seq]);
    expect((await remember(memory, owner, draft("b"))).seq).toBeGreaterThan(seq);
  });

  it("makes an id where none was sent", async () => {
    const memory = await tempMemory();
    const { entry } = await remember(memory, owner, draft(""));
    expect((await getEntry(memory, owner, entry.id, 0)).entry).toEqual(entry);
  });

  it("answers a retry with what is stored and writes nothing", async () => {
    const memory = await tempMemory();
    const first = await remember(memory, owner, draft("a", "x", { meta: '{"n":1.0}', ts: 5 }));
    const again = await remember(memory, owner, draft("a", "x", { meta: '{ "n": 1.0 }', ts: 6 }));
    expect(again).toEqual({ ...first, already: true });
  });

  it("refuses other content under a live id, and a late retry of what was forgotten", async () => {
    const memory = await tempMemory();
    await remember(memory, owner, draft("a", "x"));
    await expect(remember(memory, owner, draft("a", "y"))).rejects.toMatchObject({ reason: "ENTRY_EXISTS" });
    await forget(memory, owner, "a");
    await expect(remember(memory, owner, draft("a", "x"))).rejects.toMatchObject({ reason: "ENTRY_FORGOTTEN" });
    expect((await remember(memory, owner, draft("a", "y"))).already).toBe(false);
  });

  it("refuses a kind that the owner's config doesn't allow", async () => {
    const memory = await tempMemory();
    await attach(memory, owner, { allowedKinds: ["semantic"], maxEpisodicBytes: 0, maxSemanticBytes: 0 }, false);
    await expect(remember(memory, owner, draft("a"))).rejects.toMatchObject({ reason: "KIND_NOT_ALLOWED" });
    await remember(memory, owner, draft("a", "x", { kind: "semantic" }));
  });

  it("refuses a broken entry or owner before anything is made", async () => {
    const memory = await tempMemory();
    await expect(remember(memory, owner, draft("a", ""))).rejects.toMatchObject({ reason: "TEXT_INVALID" });
    await expect(remember(memory, { kind: "agent", id: "../x" }, draft("a"))).rejects.toMatchObject({
      reason: "OWNER_ID_INVALID",
    });
    expect((await memory.store.describe(owner, { minSeq: 0 })).exists).toBe(false);
  });

  it("says how many entries a cap dropped, to the caller and to the metric", async () => {
    let counted = 0;
    const memory = { ...(await tempMemory()), onDroppedByCaps: (entries: number) => (counted += entries) };
    await attach(memory, owner, { allowedKinds: [], maxEpisodicBytes: 20_000, maxSemanticBytes: 0 }, false);
    let told = 0;
    for (let i = 0; i < 30; i++)
      told += (await remember(memory, owner, draft(`e${i}`, "x".repeat(1_500)))).droppedByCaps;
    const { droppedByCaps } = await memory.store.describe(owner, { minSeq: 0 });
    expect(told).toBeGreaterThan(0);
    expect([counted, droppedByCaps]).toEqual([told, told]);
  });
});

describe("rememberMany", () => {
  it("stores all batches in order and answers the seqs", async () => {
    const memory = await tempMemory();
    const result = await rememberMany(memory, owner, stream(many(0, 1_500), [], many(1_500, 700)));
    expect(result).toMatchObject({ stored: 2_200, already: 0, refused: [], stopped: false, received: 2_200 });
    expect(result.lastSeq - result.firstSeq).toBe(2_199);
    expect((await getEntry(memory, owner, "e0", 0)).entry.seq).toBe(result.firstSeq);
    expect((await getEntry(memory, owner, "e2199", 0)).entry.seq).toBe(result.lastSeq);
  });

  it("stores nothing of an empty stream", async () => {
    const memory = await tempMemory();
    expect(await rememberMany(memory, owner, stream())).toMatchObject({
      stored: 0,
      firstSeq: 0,
      lastSeq: 0,
      received: 0,
    });
  });

  it("counts what was stored before, earlier in the stream too", async () => {
    const memory = await tempMemory();
    await rememberMany(memory, owner, stream(many(0, 10)));
    const result = await rememberMany(memory, owner, stream([...many(5, 10), ...many(14, 1)]));
    expect(result).toMatchObject({ stored: 5, already: 6, refused: [], received: 11 });
  });

  it("refuses items one by one, in order, with position, id, reason and message", async () => {
    const memory = await tempMemory();
    await remember(memory, owner, draft("e1", "other"));
    const items = many(0, 6);
    items[3] = draft("e3", "");
    items[4] = draft("bad\u0001id".padEnd(300, "x"));
    items[5] = draft("", "x", { kind: undefined });
    const { refused, ...result } = await rememberMany(memory, owner, stream(items));
    expect(result).toMatchObject({ stored: 2, already: 0, received: 6 });
    expect(refused.map(({ index, id, reason }) => [index, id.length, reason])).toEqual([
      [1, 2, "ENTRY_EXISTS"],
      [3, 2, "TEXT_INVALID"],
      [4, 128, "ENTRY_ID_INVALID"],
      [5, 0, "FIELD_INVALID"],
    ]);
    for (const { message } of refused) expect(message).not.toBe("");
  });

  it("stops reading after 1,000 refusals, and every item looked at is accounted for", async () => {
    const memory = await tempMemory();
    await rememberMany(memory, owner, stream(many(0, 800)));
    let pulled = 0;
    async function* endless(): AsyncGenerator<EntryDraft[]> {
      for (;;) {
        pulled++;
        yield [...many(0, 800, { text: "other" }), draft("", ""), draft(`new${pulled}`)];
      }
    }
    const result = await rememberMany(memory, owner, endless());
    expect(result.stopped).toBe(true);
    expect(result.refused.length).toBe(1_000);
    expect(result.stored + result.already + result.refused.length).toBe(result.received);
    expect(pulled).toBe(2);
  });

  it("ends with the error of the stream, and keeps the groups before", async () => {
    const memory = await tempMemory();
    async function* broken(): AsyncGenerator<EntryDraft[]> {
      yield many(0, 1_500);
      throw new Error("gone");
    }
    await expect(rememberMany(memory, owner, broken())).rejects.toThrow("gone");
    expect((await getEntry(memory, owner, "e999", 0)).copies).toBe(1);
  });
});
