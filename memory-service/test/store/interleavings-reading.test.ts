import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importOwner } from "../../src/domain/import-owner.js";
import { type Fs, realFs } from "../../src/store/jsonl/fs.js";
import type { JsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import { KINDS, type NewEntry, type Position } from "../../src/store/store.js";
import { agent, entry, exportText, listAll, never, openStore, recallAll, temporaryRoot } from "./support.js";
import { Hold, isErase, watchedFs } from "./watched-fs.js";

const path = (root: string): string => join(root, "agent", "x", "episodic.jsonl");
const idsOf = (jsonl: string): string[] =>
  jsonl
    .split("\n")
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { id: string }).id);
const many = (count: number, more: (i: number) => Partial<NewEntry> = () => ({})): NewEntry[] =>
  Array.from({ length: count }, (_, i) => entry(`e${i}`, `${"x".repeat(1000)} ${i}`, more(i)));

test("export while forgetting: what was forgotten before it was sent is not sent, all else is, once, in whole lines", async () => {
  const store = await openStore({ compactMinBytes: 20_000 });
  await store.append(agent, many(500));
  const lines = store.export(agent, KINDS, never);
  let sent = Buffer.from((await lines.next()).value as Uint8Array).toString();
  const first = idsOf(sent);
  expect(first.length).toBeLessThan(100);
  // Some that were sent, some that are to come, the last one; then so many that the log is compacted meanwhile.
  const forgotten = ["e0", "e100", "e101", "e499", ...Array.from({ length: 330 }, (_, i) => `e${i + 150}`)];
  for (const id of forgotten.slice(0, 4)) await store.forget(agent, id);
  sent += Buffer.from((await lines.next()).value as Uint8Array).toString();
  await Promise.all(forgotten.slice(4).map((id) => store.forget(agent, id)));
  await store.append(agent, [entry("later", "not in it")]);
  await expect.poll(() => store.counters.compactions).toBeGreaterThan(0);
  for (;;) {
    const { done, value } = await lines.next();
    if (done) {
      expect(value).toMatchObject({
        entries: idsOf(sent).length,
        bytes: Buffer.byteLength(sent),
        corruptLinesSkipped: 0,
      });
      break;
    }
    sent += Buffer.from(value as Uint8Array).toString();
  }
  const already = new Set([...first, ...idsOf(sent).filter((id) => Number(id.slice(1)) < 150)]);
  const wanted = many(500)
    .map(({ id }) => id)
    .filter((id) => already.has(id) || !forgotten.includes(id));
  expect(idsOf(sent)).toEqual(wanted);
  expect(idsOf(sent)).toContain("e0");
  for (const id of ["e100", "e101", "e300", "e499", "later"]) expect(idsOf(sent)).not.toContain(id);
});

test("export while the bytes of a forgotten entry are being erased sends the others whole", async () => {
  const root = temporaryRoot();
  const hold = new Hold((call) => call === "half erased");
  const fs: Fs = {
    ...realFs,
    write: async (fd, bytes, position) => {
      if (!hold.armed || !isErase(bytes)) return realFs.write(fd, bytes, position);
      await realFs.write(fd, bytes.subarray(0, bytes.length / 2), position);
      await hold.before("half erased", "");
      return realFs.write(fd, bytes, position);
    },
  };
  const store = await openStore({ root, fs });
  await store.append(agent, many(3));
  hold.armed = true;
  const forgetting = store.forget(agent, "e1");
  await hold.reached;
  expect(readFileSync(path(root), "utf8")).toMatch(/\n{100,}x+ 1/);
  expect(idsOf(await exportText(store))).toEqual(["e0", "e2"]);
  expect((await recallAll(store, "x")).entries.map(({ id }) => id)).toEqual(["e2", "e0"]);
  hold.release();
  await forgetting;
  expect(idsOf(await exportText(store))).toEqual(["e0", "e2"]);
});

/** The ids of all pages from a position on. */
async function restOf(store: JsonlStore, after: Position | undefined): Promise<string[]> {
  return after === undefined ? [] : (await listAll(store, { order: "newest", limit: 7, after })).map(({ id }) => id);
}

test("clear of one kind while it is listed: pages before show it whole, pages after nothing of it, and no other entry is missed", async () => {
  const root = temporaryRoot();
  const hold = new Hold((call, path) => call === "rename" && path.endsWith("semantic.jsonl"));
  const store = await openStore({ root, fs: watchedFs(hold.before).fs });
  const entries = many(60, (i) => ({ ts: i, kind: i % 2 === 0 ? "episodic" : "semantic" }));
  await store.append(agent, entries);
  const page = { kinds: KINDS, order: "newest", limit: 20, maxBytes: 1e6, minSeq: 0 } as const;
  const first = await store.list(agent, page);
  const ids = first.entries.map(({ id }) => id);
  expect(ids).toEqual(Array.from({ length: 20 }, (_, i) => `e${59 - i}`));

  hold.armed = true;
  const clearing = store.clear(agent, ["semantic"]);
  await hold.reached;
  // Not yet: the change is one, and not done.
  expect(await store.list(agent, { ...page, after: first.next })).toMatchObject({ entries: { length: 20 }, seq: 60 });
  hold.release();
  expect(await clearing).toEqual({ removed: 30, seq: 61 });

  // From a position that was semantic itself, and one that wasn't.
  const even = Array.from({ length: 20 }, (_, i) => `e${38 - 2 * i}`);
  expect(await restOf(store, first.next)).toEqual(even);
  const at39 = { ts: 39, ord: 40, kind: "semantic" } as const;
  expect(await restOf(store, at39)).toEqual(even);
  expect(await store.list(agent, { ...page, kinds: ["semantic"] })).toMatchObject({ entries: [], seq: 61 });
  await store.append(agent, [entry("new", "semantic again", { kind: "semantic", ts: 30 })]);
  const rest = await restOf(store, first.next);
  expect(rest).toEqual([...even.slice(0, 4), "new", ...even.slice(4)]);
});

test("import older entries, then newest 20 from a cold start: by time, whatever was written last", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root });
  const base = 1_700_000_000_000;
  await first.append(
    agent,
    many(15, (i) => ({ ts: base + i * 1000 })),
  );
  // Older ones, some between, and five of the very time of an entry that is there.
  const times = [
    ...Array.from({ length: 3000 }, (_, i) => base - 1_000_000 + ((i * 7919) % 3000)),
    ...Array.from({ length: 4 }, (_, i) => base + i * 1000 + 500),
    ...Array.from({ length: 5 }, () => base + 14_000),
  ];
  const lines = times.map((ts, i) => `${JSON.stringify({ id: `old-${i}`, kind: "episodic", text: "older", ts })}\n`);
  const memory = {
    store: first,
    now: () => base + 1_000_000,
    defaults: { allowedKinds: KINDS, maxEpisodicBytes: 0, maxSemanticBytes: 0 },
  };
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(lines.join(""));
  };
  expect(await importOwner(memory, agent, chunks())).toMatchObject({ stored: times.length, refused: [] });
  await first.close();
  expect(readFileSync(path(root), "utf8").match(/"late":true/g)).toHaveLength(3004);

  const newest = [
    ...[4, 3, 2, 1, 0].map((i) => `old-${3004 + i}`),
    ...[14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4].map((i) => `e${i}`),
    "old-3003",
    "e3",
    "old-3002",
    "e2",
  ];
  // Each of these is the first call of a process.
  for (const ask of ["recall", "recall by text", "list"]) {
    const store = await openStore({ root });
    if (ask === "list") {
      const page = { kinds: KINDS, order: "newest", limit: 20, maxBytes: 1e6, minSeq: 0 } as const;
      expect((await store.list(agent, page)).entries.map(({ id }) => id)).toEqual(newest);
    } else if (ask === "recall") {
      const { entries, summary } = await recallAll(store, "", { k: 20 });
      expect(entries.map(({ id }) => id)).toEqual(newest);
      expect(summary).toMatchObject({ returned: 20, truncated: true });
    } else {
      expect((await recallAll(store, "OLDER", { k: 20 })).entries.map(({ ts }) => ts)).toEqual(
        times.toSorted((a, b) => b - a).slice(0, 20),
      );
    }
    await store.close();
  }
});
