import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KINDS, type OwnerRef } from "../../src/store/store.js";
import { agent, entry, exportText, listAll, openStore, recallAll, temporaryRoot } from "./support.js";

const named = (id: string): OwnerRef => ({ kind: "agent", id });

test.each([
  ["leading dot", ".hidden"],
  ["slash", "a/b"],
  ["backslash", "a\\b"],
  ["NUL", "a\0b"],
  ["newline", "a\nb"],
  ["NFD", "cafe\u0301"],
  ["256 bytes", "x".repeat(256)],
])("a new owner's id with %s is refused, and nothing is made", async (_what, id) => {
  const root = temporaryRoot();
  const store = await openStore({ root });
  await expect(store.append(named(id), [entry("a", "one")])).rejects.toMatchObject({ reason: "OWNER_ID_INVALID" });
  expect(readdirSync(root)).not.toContain("agent");
});

test("odd names that are allowed stay inside the root, each an owner of its own", async () => {
  const root = temporaryRoot();
  const store = await openStore({ root });
  const odd = ["．．／", "__proto__", "constructor", "a b", "\u202Ertl", "日本", "con", "x".repeat(255), "😀"];
  for (const id of odd) await store.append(named(id), [entry("a", id)]);
  expect(readdirSync(join(root, "agent")).sort()).toEqual([...odd].sort());
  for (const id of odd) expect((await listAll(store, {}, named(id))).map(({ text }) => text)).toEqual([id]);
  const all = await store.listOwners("agent", "", 100);
  expect(all.map(({ owner }) => owner.id)).toEqual([...odd].sort());
  expect((await store.listOwners("agent", all[2].owner.id, 2)).map(({ owner }) => owner.id)).toEqual(
    [...odd].sort().slice(3, 5),
  );
});

test("a twin in case or Unicode form is refused and named; the same name comes free when its owner left", async () => {
  const store = await openStore();
  await store.append(named("Café"), [entry("a", "one")]);
  await expect(store.append(named("café"), [entry("a", "one")])).rejects.toMatchObject({
    reason: "OWNER_NAME_TWIN",
    metadata: { existing: "Café" },
  });
  await store.softDelete(named("Café"), "");
  await store.append(named("café"), [entry("a", "one")]);
});

test("of twins that come at once one is made", async () => {
  const root = temporaryRoot();
  const store = await openStore({ root });
  const made = await Promise.allSettled(
    ["Ada", "ada", "ADA", "aDa"].map((id) => store.append(named(id), [entry("a", "one")])),
  );
  expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected", "rejected"]);
  expect(readdirSync(join(root, "agent"))).toHaveLength(1);
});

test("directories and logs that are links or no files are not opened", async () => {
  const root = temporaryRoot();
  const outside = temporaryRoot();
  writeFileSync(join(outside, "episodic.jsonl"), '{"id":"a","text":"outside"}\n');
  mkdirSync(join(root, "agent", "log-link"), { recursive: true });
  symlinkSync(outside, join(root, "agent", "link"));
  symlinkSync(join(outside, "episodic.jsonl"), join(root, "agent", "log-link", "episodic.jsonl"));
  mkdirSync(join(root, "agent", "fifo"));
  execFileSync("mkfifo", [join(root, "agent", "fifo", "episodic.jsonl")]);
  const store = await openStore({ root });
  for (const id of ["link", "log-link", "fifo"]) {
    await expect(store.describe(named(id), { minSeq: 0 })).rejects.toMatchObject({ reason: "OWNER_PATH_UNSAFE" });
    await expect(store.append(named(id), [entry("b", "two")])).rejects.toMatchObject({ reason: "OWNER_PATH_UNSAFE" });
  }
  expect(readFileSync(join(outside, "episodic.jsonl"), "utf8")).toBe('{"id":"a","text":"outside"}\n');
  await store.append(agent, [entry("a", "others go on")]);
});

test("an owner that doesn't exist reads as empty, and reading makes nothing", async () => {
  const root = temporaryRoot();
  const store = await openStore({ root });
  expect(await listAll(store)).toEqual([]);
  expect(await store.describe(agent, { minSeq: 0 })).toMatchObject({ exists: false, seq: 0, kinds: [] });
  expect(await store.forget(agent, "a")).toEqual({ copies: 0, seq: 0 });
  expect(await store.clear(agent, KINDS)).toEqual({ removed: 0, seq: 0 });
  expect(await store.patch(agent, "a", () => "{}")).toEqual({ copies: 0, seq: 0 });
  expect(existsSync(join(root, "agent"))).toBe(false);
});

test("a directory of the file plugin before Reverie opens as it is", async () => {
  const root = temporaryRoot();
  const directory = join(root, "agent", ".Ünïcode\u0301");
  mkdirSync(directory, { recursive: true });
  const deep = "[".repeat(200) + "]".repeat(200);
  const lines = [
    '{"id":"a","kind":"episodic","text":"first","ts":100,"meta":{"n":9007199254740993}}',
    '{"ts": 300, "text": "caf\\u00e9 spaced", "id": "b", "extra": {"ts": 1, "meta": 2}, "meta": { "k" : [1, 2.50] }}',
    "this is no JSON",
    '{"id":"a","kind":"episodic","text":"the same id again","ts":200}',
    `{"id":"deep","text":"deep meta","ts":50,"meta":{"d":${deep}}}`,
    `{"id":"big","text":"${"y".repeat(6 * 1024 * 1024)}","ts":60}`,
    "",
  ];
  writeFileSync(join(directory, "episodic.jsonl"), lines.join("\n"));
  writeFileSync(join(directory, "notes.txt"), "of the hub's own");
  const owner = named(".Ünïcode\u0301");
  const store = await openStore({ root, compactMinBytes: 1000 });
  const live = await listAll(store, {}, owner);
  expect(live.map(({ id }) => id)).toEqual(["b", "a", "a", "big", "deep"]);
  expect(live.map(({ seq }) => seq)).toEqual([0, 0, 0, 0, 0]);
  expect(live[0].meta).toBe('{"k":[1,2.50]}');
  expect(live[2].meta).toBe('{"n":9007199254740993}');
  expect(live[4].meta).toBe(`{"d":${deep}}`);
  expect(live[3].text).toHaveLength(6 * 1024 * 1024);
  expect((await recallAll(store, "CAFÉ", { owner })).entries.map(({ id }) => id)).toEqual(["b"]);
  expect(await store.describe(owner, { minSeq: 0 })).toMatchObject({ corruptLines: 1, seq: 0 });
  // Changes act on every copy, and newer entries come after all old ones of the same time.
  expect(await store.patch(owner, "a", () => '{"p":1}')).toMatchObject({ copies: 2, seq: 2 });
  await store.append(owner, [entry("new", "newer", { ts: 300 })]);
  expect((await listAll(store, {}, owner)).map(({ id }) => id)).toEqual(["new", "b", "a", "a", "big", "deep"]);
  expect(await store.forget(owner, "big")).toMatchObject({ copies: 1 });
  // Most of the file is waste now.
  await expect.poll(() => store.counters.compactions).toBeGreaterThan(0);
  const order = ["new", "b", "a", "a", "deep"];
  expect((await listAll(store, {}, owner)).map(({ id }) => id)).toEqual(order);
  await store.close();
  const again = await openStore({ root });
  const after = await listAll(again, {}, owner);
  expect(after.map(({ id }) => id)).toEqual(order);
  expect(after[1]).toMatchObject({ id: "b", text: "café spaced", meta: '{"k":[1,2.50]}', ts: 300, seq: 0 });
  expect(after[4].meta).toBe(`{"d":${deep}}`);
  const text = readFileSync(join(directory, "episodic.jsonl"), "utf8");
  expect(text).toContain("this is no JSON");
  expect(text).toContain('"extra": {"ts": 1, "meta": 2}');
  expect(readFileSync(join(directory, "notes.txt"), "utf8")).toBe("of the hub's own");
  expect((await exportText(again, KINDS, owner)).split("\n")).toHaveLength(6);
  expect(await again.forget(owner, "a")).toMatchObject({ copies: 2 });
});

test("a patch doesn't drop an older meta that is no object", async () => {
  const root = temporaryRoot();
  mkdirSync(join(root, "agent", "x"), { recursive: true });
  const path = join(root, "agent", "x", "episodic.jsonl");
  const before = '{"id":"odd","text":"a","ts":1,"meta":["tag"]}\n{"id":"null","text":"b","ts":2,"meta":null}\n';
  writeFileSync(path, before);
  const store = await openStore({ root });
  await expect(store.patch(agent, "odd", () => '{"n":1}')).rejects.toMatchObject({ reason: "META_INVALID" });
  expect(readFileSync(path, "utf8")).toBe(before);
  expect(await store.patch(agent, "null", () => '{"n":1}')).toMatchObject({ copies: 1, entry: { meta: '{"n":1}' } });
});

test("a line that another writer altered is kept and counted, not served, and its id stays taken", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root });
  await first.append(agent, [entry("a", "original"), entry("b", "two")]);
  await first.close();
  const path = join(root, "agent", "x", "episodic.jsonl");
  const altered = readFileSync(path, "utf8").replace("original", "doctored");
  writeFileSync(path, altered);
  const store = await openStore({ root });
  expect((await listAll(store)).map(({ id }) => id)).toEqual(["b"]);
  expect((await recallAll(store, "")).summary).toMatchObject({ returned: 1, corruptLinesSkipped: 1 });
  await expect(store.get(agent, "a", { minSeq: 0 })).rejects.toMatchObject({ reason: "ENTRY_CORRUPT" });
  const { outcomes } = await store.append(agent, [entry("a", "original")]);
  expect(outcomes[0]).toMatchObject({ status: "refused", error: { reason: "ENTRY_CORRUPT" } });
  expect(readFileSync(path, "utf8")).toBe(altered);
  expect(await store.forget(agent, "a")).toMatchObject({ copies: 1 });
  expect(readFileSync(path, "utf8")).not.toContain("doctored");
});

test("a line of ours that lost the names of its seq and checksum is no line of before Reverie", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root });
  await first.append(agent, [entry("a", "one"), entry("b", "two")]);
  await first.close();
  const path = join(root, "agent", "x", "episodic.jsonl");
  writeFileSync(path, readFileSync(path, "utf8").replace('"seq":1,"crc"', '"seqcrc"'));
  const second = await openStore({ root });
  expect((await listAll(second)).map(({ id }) => id)).toEqual(["b"]);
  expect((await second.describe(agent, { minSeq: 0 })).corruptLines).toBe(1);
});

test("a cap drops the oldest half, says so, keeps the newest, and the ids come free", async () => {
  const store = await openStore({ defaults: { allowedKinds: KINDS, maxEpisodicBytes: 3000, maxSemanticBytes: 0 } });
  let dropped = 0;
  for (let i = 0; i < 40; i++) {
    const result = await store.append(agent, [entry(`id-${i}`, "x".repeat(100), { ts: i })]);
    dropped += result.droppedByCaps;
    const state = await store.describe(agent, { minSeq: 0 });
    expect(state.kinds[0].liveBytes).toBeLessThanOrEqual(3000);
    expect(state.droppedByCaps).toBe(dropped);
    expect((await listAll(store)).map(({ id }) => id)[0]).toBe(`id-${i}`);
  }
  const live = await listAll(store);
  expect(dropped).toBe(40 - live.length);
  expect(dropped).toBeGreaterThan(0);
  expect(live.map(({ id }) => id)).toEqual(Array.from({ length: live.length }, (_, i) => `id-${39 - i}`));
  const { outcomes } = await store.append(agent, [entry("id-0", "x".repeat(100), { ts: 100 })]);
  expect(outcomes[0].status).toBe("stored");
  await store.append(agent, [
    entry("working", "y".repeat(10_000), { kind: "working" }),
    entry("huge", "z".repeat(10_000), { ts: 200 }),
  ]);
  expect((await listAll(store)).map(({ id }) => id).sort()).toEqual(["huge", "working"]);
});

test("many owners in turn keep no more open than allowed", async () => {
  const store = await openStore({ maxOpenOwners: 4, durability: "none" });
  const before = readdirSync("/proc/self/fd").length;
  for (let i = 0; i < 60; i++)
    await store.append(named(`o${i}`), [entry("a", `text ${i}`), entry("w", "w", { kind: "working" })]);
  for (let i = 0; i < 60; i++)
    expect((await listAll(store, { kinds: ["episodic"] }, named(`o${i}`)))[0].text).toBe(`text ${i}`);
  await expect.poll(() => readdirSync("/proc/self/fd").length - before).toBeLessThan(20);
});

test("twenty writers at once get one order without gaps, in far fewer commits", async () => {
  const store = await openStore();
  const seqs: number[] = [];
  await Promise.all(
    Array.from({ length: 20 }, async (_, writer) => {
      for (let i = 0; i < 100; i++) {
        const { outcomes } = await store.append(agent, [entry(`${writer}-${i}`, "text")]);
        if (outcomes[0].status !== "refused") seqs.push(outcomes[0].entry.seq);
      }
    }),
  );
  expect([...seqs].sort((a, b) => a - b)).toEqual(Array.from({ length: 2000 }, (_, i) => i + 1));
  expect(store.counters.commits).toBeLessThan(1000);
});
