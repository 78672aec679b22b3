import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Fs } from "../../src/store/jsonl/fs.js";
import type { JsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import { KINDS } from "../../src/store/store.js";
import { agent, changesAfter, entry, listAll, naiveRead, openStore, temporaryRoot } from "./support.js";
import { Hold, isErase, watchedFs } from "./watched-fs.js";

const DAY_MS = 24 * 3600 * 1000;
const path = (root: string): string => join(root, "agent", "x", "episodic.jsonl");
const ids = async (store: JsonlStore): Promise<string[]> =>
  (await listAll(store, { order: "oldest" })).map(({ id }) => id);
const compacted = (store: JsonlStore, times = 1): Promise<void> =>
  expect.poll(() => store.counters.compactions).toBe(times);
const text = (root: string): string => readFileSync(path(root), "utf8");
const lines = (root: string): Record<string, unknown>[] =>
  text(root)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** A log that is being compacted and held at this call, when `secret` is forgotten. */
async function forgetWhileCompacting(heldAt: "open" | "write", wrap = (fs: Fs): Fs => fs): Promise<string> {
  const root = temporaryRoot();
  const hold = new Hold((call, path) => call === heldAt && path.endsWith(".tmp"));
  const store = await openStore({ root, fs: wrap(watchedFs(hold.before).fs), compactMinBytes: 500 });
  await store.append(agent, [
    entry("waste", "x".repeat(2000)),
    entry("secret", "the secret text"),
    entry("other", "y"),
  ]);
  hold.armed = true;
  await store.forget(agent, "waste");
  await hold.reached;
  await store.forget(agent, "secret");
  expect(await ids(store)).toEqual(["other"]);
  hold.release();
  await compacted(store);
  expect(await ids(store)).toEqual(["other"]);
  await store.close();
  return root;
}

test.each([
  ["before it is copied", "open"],
  ["after it was copied", "write"],
] as const)(
  "an entry forgotten during compaction, %s, is gone from the new log, also after a restart",
  async (_, at) => {
    const root = await forgetWhileCompacting(at);
    expect(text(root)).not.toContain("the secret text");
    expect(lines(root).filter(({ forget }) => forget !== undefined)).toMatchObject([
      { forget: "waste", seq: 4 },
      { forget: "secret", seq: 5 },
    ]);
    const store = await openStore({ root });
    expect(await ids(store)).toEqual(["other"]);
    const [outcome] = (await store.append(agent, [entry("secret", "the secret text")])).outcomes;
    expect(outcome).toMatchObject({ status: "refused", error: { reason: "ENTRY_FORGOTTEN" } });
    expect((await changesAfter(store, 3)).changes).toMatchObject([
      { deleted: { id: "waste", seq: 4 } },
      { deleted: { id: "secret", seq: 5 } },
    ]);
  },
);

test("the same without the erase in the new log brings the forgotten entry back", async () => {
  const root = await forgetWhileCompacting("write", (fs) => {
    const rewritten = new Set<number>();
    return {
      ...fs,
      open: async (path, flags, mode) => {
        const fd = await fs.open(path, flags, mode);
        if (path.endsWith(".tmp")) rewritten.add(fd);
        return fd;
      },
      write: async (fd, bytes, position) =>
        rewritten.has(fd) && isErase(bytes) ? bytes.length : fs.write(fd, bytes, position),
    };
  });
  expect(text(root)).toContain("the secret text");
  expect((await ids(await openStore({ root }))).sort()).toEqual(["other", "secret"]);
});

test("replay after a compaction that copied a tombstone: it erases nothing, still refuses the retry, and still tells watchers", async () => {
  const root = temporaryRoot();
  let now = 1_700_000_000_000;
  const first = await openStore({ root, compactMinBytes: 500, now: () => now });
  await first.append(agent, [entry("gone", "x".repeat(2000)), entry("a", "one"), entry("b", "two")]);
  await first.forget(agent, "gone");
  await compacted(first);
  await first.close();
  const before = text(root);
  expect(lines(root).find(({ forget }) => forget === "gone")).not.toHaveProperty("was");

  const second = await openStore({ root, compactMinBytes: 500, now: () => now });
  expect(await ids(second)).toEqual(["a", "b"]);
  expect(text(root)).toBe(before);
  const retry = entry("gone", "x".repeat(2000));
  expect((await second.append(agent, [retry])).outcomes).toMatchObject([
    { status: "refused", error: { reason: "ENTRY_FORGOTTEN" } },
  ]);
  expect((await changesAfter(second, 3)).changes).toMatchObject([{ deleted: { id: "gone", seq: 4 } }]);

  now += DAY_MS + 1;
  await second.append(agent, [entry("big", "y".repeat(3000))]);
  await second.forget(agent, "big");
  await compacted(second);
  await second.close();
  expect(lines(root).map(({ forget }) => forget)).not.toContain("gone");
  const third = await openStore({ root, now: () => now });
  await expect(changesAfter(third, 3)).rejects.toMatchObject({ reason: "WATCH_CURSOR_EXPIRED" });
  expect((await changesAfter(third, 4)).changes).toMatchObject([{ deleted: { id: "big" } }]);
  expect((await third.append(agent, [retry])).outcomes).toMatchObject([{ status: "stored" }]);
});

test("compaction of an emptied log, then a restart: nothing lives, nothing of it is left, and seqs go on", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root, compactMinBytes: 500 });
  await first.append(agent, [entry("a", "x".repeat(2000)), entry("b", "y".repeat(20))]);
  // Together, so that one compaction finds it empty.
  const [, { seq }] = await Promise.all([first.forget(agent, "a"), first.forget(agent, "b")]);
  await compacted(first);
  await first.close();
  expect(lines(root).map((line) => Object.keys(line)[0])).toEqual(["forget", "forget", "head"]);
  expect(naiveRead(root)).toEqual([]);

  const second = await openStore({ root });
  expect(await ids(second)).toEqual([]);
  expect(await second.describe(agent, { minSeq: seq })).toMatchObject({ exists: true, seq: 4, corruptLines: 0 });
  expect((await second.append(agent, [entry("a", "x".repeat(2000))])).outcomes).toMatchObject([
    { status: "refused", error: { reason: "ENTRY_FORGOTTEN" } },
  ]);
  expect(await second.append(agent, [entry("c", "three")])).toMatchObject({ seq: 5, outcomes: [{ status: "stored" }] });
  expect((await changesAfter(second, 2)).changes).toMatchObject([
    { deleted: { id: "a", seq: 3 } },
    { deleted: { id: "b", seq: 4 } },
    { upserted: { id: "c", seq: 5 } },
  ]);
  await second.close();
  expect(naiveRead(root).map(({ id }) => id)).toEqual(["c"]);
});

test("a cap in a directory with 10,000 legacy lines drops the oldest half of it, and keeps what stays as it was", async () => {
  const root = temporaryRoot();
  mkdirSync(join(root, "agent", "x"), { recursive: true });
  // Their times run backwards: a cap goes by what was written first.
  const legacy = Array.from(
    { length: 10_000 },
    (_, i) => `{"id":"old-${i}","text":"${"x".repeat(40)}","ts":${20_000 - i},"theirs":${i}}`,
  );
  writeFileSync(path(root), `${legacy.join("\n")}\n`);
  const store = await openStore({ root });
  const before = await store.describe(agent, { minSeq: 0 });
  expect(before.kinds).toMatchObject([{ entries: 10_000 }]);
  const cap = Math.floor(before.kinds[0].liveBytes * 0.9);
  await store.attach(agent, { allowedKinds: KINDS, maxEpisodicBytes: cap, maxSemanticBytes: 0 }, false);
  const { droppedByCaps } = await store.append(agent, [entry("new", "ours", { ts: 1 })]);
  const kept = 10_000 - droppedByCaps;
  const { kinds, droppedByCaps: described } = await store.describe(agent, { minSeq: 0 });
  expect(described).toBe(droppedByCaps);
  expect(kinds[0]).toMatchObject({ entries: kept + 1 });
  expect(kinds[0].liveBytes).toBeLessThanOrEqual(cap / 2);
  expect(kinds[0].liveBytes).toBeGreaterThan((cap / 2) * 0.95);
  await store.close();

  const again = await openStore({ root });
  // The newest by time, and of the legacy ones the last written.
  const wanted = [...Array.from({ length: kept }, (_, i) => `old-${droppedByCaps + i}`).reverse(), "new"];
  const entries = await listAll(again, { limit: 500, order: "oldest" });
  expect(entries.map(({ id }) => id)).toEqual(["new", ...wanted.slice(0, -1)]);
  expect(entries.slice(1).every(({ seq, ord }) => seq === 0 && ord < 0)).toBe(true);
  expect(lines(root).filter(({ theirs }) => theirs !== undefined)).toHaveLength(kept);
  expect(lines(root).find(({ id }) => id === "old-9999")).toMatchObject({ theirs: 9999, ts: 10_001 });
  expect((await again.append(agent, [entry("old-0", "free again")])).outcomes).toMatchObject([{ status: "stored" }]);
});

test("lines that another process appends while a log is compacted are served", async () => {
  const root = temporaryRoot();
  let held: (() => void) | undefined;
  const { fs } = watchedFs((call, path) =>
    call === "open" && path.endsWith(".tmp") && path.includes("episodic") && held === undefined
      ? new Promise((resolve) => {
          held = resolve;
        })
      : undefined,
  );
  const store = await openStore({ root, fs, compactMinBytes: 500 });
  await store.append(agent, [entry("a", "x".repeat(2000)), entry("b", "two")]);
  await store.forget(agent, "a");
  await expect.poll(() => held).toBeDefined();
  appendFileSync(path(root), '{"id":"theirs","text":"from elsewhere","ts":5}\n');
  held?.();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await store.append(agent, [entry("c", "three")]);
  expect((await ids(store)).sort()).toEqual(["b", "c", "theirs"]);
});

test("stale lines, which compaction keeps, make no log compact for ever", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root });
  await first.append(
    agent,
    Array.from({ length: 100 }, (_, i) => entry(`id-${i}`, `original ${"x".repeat(1000)}`)),
  );
  await first.close();
  writeFileSync(path(root), readFileSync(path(root), "utf8").replaceAll("original", "doctored"));
  const store = await openStore({ root, compactMinBytes: 1000 });
  for (let i = 0; i < 20; i++) await store.append(agent, [entry(`new-${i}`, "y")]);
  expect((await store.describe(agent, { minSeq: 0 })).corruptLines).toBe(100);
  expect(store.counters.compactions).toBe(0);
});

test("lines of an older writer keep their order, also those it adds after a compaction", async () => {
  const root = temporaryRoot();
  mkdirSync(join(root, "agent", "x"), { recursive: true });
  const legacy = (id: string, length: number): string => `{"id":"${id}","text":"${"x".repeat(length)}","ts":5}\n`;
  writeFileSync(path(root), legacy("gone", 5000) + legacy("L", 10) + legacy("M", 10));
  const first = await openStore({ root, compactMinBytes: 1000 });
  await first.forget(agent, "gone");
  await expect.poll(() => first.counters.compactions).toBe(1);
  await first.close();
  appendFileSync(path(root), legacy("N", 10) + legacy("O", 10));
  const second = await openStore({ root });
  await second.append(agent, [entry("new", "ours", { ts: 5 })]);
  expect(await ids(second)).toEqual(["L", "M", "N", "O", "new"]);
});
