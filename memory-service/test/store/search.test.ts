import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { JsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import { KINDS, type Kind, type NewEntry } from "../../src/store/store.js";
import { fold } from "../../src/text/fold.js";
import { agent, entry, listAll, never, openStore, recallAll } from "./support.js";

const each = [
  ["café", "cafe\u0301"],
  ["STRASSE", "straße"],
  ["istanbul", "İstanbul"],
  ["ΟΔΟΣ", "οδος"],
  ["ＦＵＬＬ　ｗｉｄｔｈ", "full width"],
] as const;

test.each(each)("%s and %s find each other", async (one, other) => {
  const store = await openStore();
  await store.append(agent, [entry("one", `before ${one} behind`), entry("other", `before ${other} behind`)]);
  for (const text of [one, other]) {
    const { entries } = await recallAll(store, text);
    expect(entries.map(({ id }) => id)).toContain("other");
    expect(entries.map(({ id }) => id)).toContain("one");
  }
});

test("one and two characters of any script are found, and voiced kana are other characters", async () => {
  const store = await openStore();
  await store.append(agent, [
    entry("1", "がくせい"),
    entry("2", "か\u3099くせい"),
    entry("3", "かき"),
    entry("4", "a語"),
  ]);
  const ids = async (text: string): Promise<string[]> =>
    (await recallAll(store, text)).entries.map(({ id }) => id).sort();
  expect(await ids("か")).toEqual(["3"]);
  expect(await ids("が")).toEqual(["1", "2"]);
  expect(await ids("がく")).toEqual(["1", "2"]);
  expect(await ids("語")).toEqual(["4"]);
  expect(await ids("A")).toEqual(["4"]);
  expect(await ids("A語")).toEqual(["4"]);
  expect(await ids("くせ")).toEqual(["1", "2"]);
});

test("a search over many blocks finds what a scan of every text finds, in the same order", {
  timeout: 60_000,
}, async () => {
  const store = await openStore({ durability: "none" });
  const random = generator(42);
  const words = [
    "memory",
    "Straße",
    "東京",
    "タワー",
    "café",
    'quo"te',
    "back\\slash",
    "ein",
    "zwei",
    "x",
    "новости",
    "ÅNGSTRÖM",
    "line\nbreak",
    "tab\t",
  ];
  const all: NewEntry[] = [];
  for (let i = 0; i < 6000; i++) {
    const text = Array.from({ length: 1 + (random() % 12) }, () => words[random() % words.length]).join(
      random() % 3 === 0 ? "" : " ",
    );
    // Every fifth is late; some times are equal.
    const ts = random() % 5 === 0 ? random() % 6000 : Math.floor(i / 2);
    all.push(entry(`id-${i}`, `${text} ${i % 997 === 0 ? "needle" : ""}`, { ts, kind: KINDS[i % 3] }));
  }
  for (let i = 0; i < all.length; i += 500) await store.append(agent, all.slice(i, i + 500));
  for (let i = 0; i < 6000; i += 7) await store.patch(agent, `id-${i}`, () => `{"patched":${i}}`);
  for (let i = 3; i < 6000; i += 11) await store.forget(agent, `id-${i}`);
  const live = await listAll(store, { limit: 500 });
  expect(live).toHaveLength(6000 - Math.ceil((6000 - 3) / 11));
  const queries = [
    "needle",
    "strasse",
    "京タ",
    "タ",
    "CAFE\u0301",
    'O"T',
    "k\\s",
    "нов",
    "ångström",
    "e\nb",
    "\t",
    "x",
    "nothing at all",
    "東京東京",
    "1",
    "o\u0301",
  ];
  for (const query of queries) {
    const folded = fold(query);
    const expected = live.filter(({ text }) => fold(text).includes(folded));
    const { entries, summary } = await recallAll(store, query, { k: 10_000 });
    expect(
      entries.map(({ id }) => id),
      query,
    ).toEqual(expected.map(({ id }) => id));
    expect(summary).toMatchObject({
      matched: expected.length,
      returned: expected.length,
      truncated: false,
      scanned: live.length,
    });
    // The same when others have their turn after each step.
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 1000));
    const interrupted = await recallAll(store, query, { k: 10_000 });
    clock.mockRestore();
    expect(interrupted, query).toEqual({ entries, summary });
    const some = await recallAll(store, query, { k: 5, kinds: ["semantic"], since: 1500 });
    expect(some.entries).toEqual(expected.filter(({ kind, ts }) => kind === "semantic" && ts >= 1500).slice(0, 5));
  }
});

test("any substring of a text finds it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
      fc.nat(),
      fc.nat(),
      async (text, a, b) => {
        const store = await openStore({ durability: "none" });
        await store.append(agent, [entry("before", "other"), entry("it", text), entry("after", "another")]);
        const folded = fold(text);
        const from = a % (folded.length + 1);
        const part = folded.slice(from, from + 1 + (b % folded.length)).toWellFormed();
        if (fold(part) !== part || !folded.includes(part)) return;
        expect((await recallAll(store, part)).entries.map(({ id }) => id)).toContain("it");
      },
    ),
    { numRuns: 200 },
  );
});

test("a recall goes on through a compaction, forgets and patches without missing or repeating", {
  timeout: 60_000,
}, async () => {
  const store = await openStore({ durability: "none", compactMinBytes: 1000 });
  const text = "some words to fill a block ".repeat(20);
  const all = Array.from({ length: 3000 }, (_, i) => entry(`id-${i}`, `${text}${i}`, { ts: i }));
  for (let i = 0; i < all.length; i += 500) await store.append(agent, all.slice(i, i + 500));
  const answer = store.recall(
    agent,
    { text: "fill a block", kinds: KINDS, k: 5000, minSeq: 0 },
    new AbortController().signal,
  );
  const seen: string[] = [];
  let round = 0;
  for (let next = await answer.next(); !next.done; next = await answer.next()) {
    seen.push(...next.value.map(({ id }) => id));
    // Nine of ten go, which makes compaction worth it; the others are patched.
    const from = round++ * 200;
    for (let i = from; i < from + 200 && i < 3000; i++) {
      if (i % 10 === 0) await store.patch(agent, `id-${i}`, () => `{"n":${i}}`);
      else await store.forget(agent, `id-${i}`);
    }
  }
  expect(store.counters.compactions).toBeGreaterThan(0);
  expect(new Set(seen).size).toBe(seen.length);
  const missing = all.map(({ id }) => id).filter((id) => !seen.includes(id));
  for (const id of missing) expect(Number(id.slice(3)) % 10, id).not.toBe(0);
  expect([...seen].sort((a, b) => Number(b.slice(3)) - Number(a.slice(3)))).toEqual(seen);
});

test("an entry that is patched while a search runs is found once, wherever its copy lands", async () => {
  const text = "needle ".padEnd(1000, "x");
  const all = Array.from({ length: 300 }, (_, i) => entry(`id-${i}`, text, { ts: i }));
  const run = async (
    query: string,
    kinds: readonly Kind[],
    meddle: (store: JsonlStore) => Promise<void>,
  ): Promise<string[]> => {
    const store = await openStore({ durability: "none" });
    await store.append(agent, all);
    await store.append(
      agent,
      Array.from({ length: 200 }, (_, i) => entry(`s-${i}`, text, { ts: 1000 + i, kind: "semantic" })),
    );
    const answer = store.recall(agent, { text: query, kinds, k: 10_000, minSeq: 0 }, never);
    const seen: string[] = [];
    for (let next = await answer.next(), first = true; !next.done; next = await answer.next()) {
      seen.push(...next.value.map(({ id }) => id));
      if (first) await meddle(store);
      first = false;
    }
    return seen;
  };
  const filler = entry("filler", "other text ".repeat(4000), { ts: 5000 });
  const late = await run("needle", ["episodic"], async (store) => {
    await store.append(agent, [filler]);
    await store.patch(agent, "id-3", () => '{"n":1}');
  });
  expect(late).toEqual(Array.from({ length: 300 }, (_, i) => `id-${299 - i}`));
  for (const query of ["", "needle"]) {
    const newest = await run(query, ["episodic", "semantic"], async (store) => {
      // The newest of its kind, so that its copy is not late; in a block of its own.
      await store.patch(agent, "id-299", () => `{"n":"${"y".repeat(20_000)}"}`);
      await store.append(agent, [filler]);
    });
    expect(newest.filter((id) => id.startsWith("id-"))).toEqual(Array.from({ length: 300 }, (_, i) => `id-${299 - i}`));
    const emitted = await run(query, ["semantic"], (store) =>
      store.patch(agent, "s-199", () => '{"n":1}').then(() => {}),
    );
    expect(emitted).toEqual(Array.from({ length: 200 }, (_, i) => `s-${199 - i}`));
  }
});

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
}
