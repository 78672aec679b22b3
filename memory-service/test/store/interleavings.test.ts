import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Fs, realFs } from "../../src/store/jsonl/fs.js";
import { KINDS, type OwnerRef } from "../../src/store/store.js";
import { agent, entry, listAll, naiveRead, openStore, temporaryRoot } from "./support.js";
import { watchedFs } from "./watched-fs.js";

const ids = async (store: Awaited<ReturnType<typeof openStore>>, owner = agent): Promise<string[]> =>
  (await listAll(store, { order: "oldest" }, owner)).map(({ id }) => id);
const path = (root: string, kind = "episodic"): string => join(root, "agent", "x", `${kind}.jsonl`);
const failure = (code: string): Error => Object.assign(new Error(code), { code });

test("a soft delete that comes while a restore ends gets a ref of its own, and can be restored", async () => {
  const root = temporaryRoot();
  let slow = false;
  const { fs } = watchedFs((call, path) =>
    slow && call === "fsync" && path === join(root, "agent")
      ? new Promise((resolve) => setTimeout(resolve, 150))
      : undefined,
  );
  const store = await openStore({ root, fs });
  await store.append(agent, [entry("a", "one")]);
  const first = await store.softDelete(agent, "");
  slow = true;
  const restoring = store.restore(agent, first.ref.refId);
  await expect.poll(() => existsSync(join(root, "agent", "x"))).toBe(true);
  const second = await store.softDelete(agent, "");
  await restoring;
  slow = false;
  expect(second.moved).toBe(true);
  await store.restore(agent, second.ref.refId);
  expect(await ids(store)).toEqual(["a"]);
});

test.each(["clear", "cap", "soft delete"])(
  "a %s beside a running compaction works",
  { timeout: 30_000 },
  async (change) => {
    const root = temporaryRoot();
    const store = await openStore({ root, durability: "none" });
    const many = Array.from({ length: 12_000 }, (_, i) => entry(`id-${i}`, "x".repeat(700), { ts: i }));
    for (let i = 0; i < many.length; i += 1000) await store.append(agent, many.slice(i, i + 1000));
    await Promise.all(many.slice(0, 9000).map(({ id }) => store.forget(agent, id)));
    if (change === "clear") expect(await store.clear(agent, ["episodic"])).toMatchObject({ removed: 3000 });
    else if (change === "soft delete") expect(await store.softDelete(agent, "")).toMatchObject({ moved: true });
    else {
      await store.attach(agent, { allowedKinds: KINDS, maxEpisodicBytes: 1_000_000, maxSemanticBytes: 0 }, true);
      const { droppedByCaps } = await store.append(agent, [entry("last", "z", { ts: 20_000 })]);
      expect(droppedByCaps).toBeGreaterThan(1000);
      expect((await listAll(store, { limit: 500 }))[0].id).toBe("last");
    }
    await store.append(agent, [entry("after", "y", { ts: 30_000 })]);
    expect(
      (await store.list(agent, { kinds: KINDS, order: "newest", limit: 1, maxBytes: 1e6, minSeq: 0 })).entries[0].id,
    ).toBe("after");
    await store.close();
    expect(readdirSync(join(root, "agent", "x")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  },
);

test("a disk that is broken for a while ends no process with durability interval", async () => {
  const stray: unknown[] = [];
  const listen = (error: unknown): void => void stray.push(error);
  process.on("unhandledRejection", listen);
  let broken = false;
  const { fs } = watchedFs((call) => (broken && call !== "fsync" ? Promise.reject(failure("EIO")) : undefined));
  const store = await openStore({ fs, durability: "interval", syncIntervalMs: 20 });
  await store.append(agent, [entry("a", "one")]);
  broken = true;
  await expect(store.append(agent, [entry("b", "two")])).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  await new Promise((resolve) => setTimeout(resolve, 400));
  broken = false;
  await expect.poll(() => store.health().ok, { timeout: 5000 }).toBe(true);
  await store.append(agent, [entry("c", "three")]);
  expect(await ids(store)).toEqual(["a", "c"]);
  process.off("unhandledRejection", listen);
  expect(stray).toEqual([]);
});

test.each(["fsync", "interval", "none"] as const)(
  "with durability %s what replaces an entry is durable before the entry goes",
  async (durability) => {
    const { fs, calls } = watchedFs(() => undefined);
    const store = await openStore({ fs, durability, syncIntervalMs: 60_000 });
    await store.append(agent, [entry("a", "one"), entry("b", "two")]);
    calls.length = 0;
    await store.patch(agent, "a", () => '{"n":1}');
    await store.forget(agent, "b");
    const order = calls.filter((call) => call.endsWith("episodic.jsonl"));
    expect(order.slice(0, 3)).toEqual(["write episodic.jsonl", "fdatasync episodic.jsonl", "erase episodic.jsonl"]);
    expect(order.lastIndexOf("fdatasync episodic.jsonl")).toBeGreaterThan(order.indexOf("write episodic.jsonl", 1));
  },
);

test("at opening, too: a patch that was written but not synced is synced before its range is erased", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root });
  await first.append(agent, [entry("a", "the text")]);
  const before = readFileSync(path(root));
  await first.patch(agent, "a", () => '{"n":1}');
  await first.close();
  const after = readFileSync(path(root));
  before.copy(after, 0, 0, before.length);
  writeFileSync(path(root), after);
  const { fs, calls } = watchedFs(() => undefined);
  const second = await openStore({ root, fs });
  expect(await ids(second)).toEqual(["a"]);
  const order = calls.filter((call) => call.endsWith("episodic.jsonl") && !call.startsWith("open"));
  expect(order).toEqual(["fdatasync episodic.jsonl", "erase episodic.jsonl", "fdatasync episodic.jsonl"]);
});

test("a write that can't be taken back stops the log, so that nothing refused is served", async () => {
  const root = temporaryRoot();
  let full = false;
  const { fs } = watchedFs((call, path) =>
    full && call === "ftruncate" && path.endsWith("episodic.jsonl") ? Promise.reject(failure("ENOSPC")) : undefined,
  );
  const { write } = fs;
  let short = true;
  const shortFs: Fs = {
    ...fs,
    write: async (fd, bytes, position) => {
      if (!full) return write(fd, bytes, position);
      if (!short) throw failure("ENOSPC");
      short = false;
      return write(fd, bytes.subarray(0, bytes.length - 5), position);
    },
  };
  const store = await openStore({ root, fs: shortFs });
  await store.append(agent, [entry("a", "one")]);
  full = true;
  await expect(store.append(agent, [entry("refused-1", "two"), entry("refused-2", "three")])).rejects.toMatchObject({
    reason: "LOG_STOPPED",
  });
  full = false;
  await expect.poll(() => store.health().ok, { timeout: 5000 }).toBe(true);
  await store.append(agent, [entry("b", "four")]);
  expect(await ids(store)).toEqual(["a", "b"]);
});

test("an entry damaged on the disk is passed over, and its neighbours are not", async () => {
  const root = temporaryRoot();
  const store = await openStore({ root });
  await store.append(
    agent,
    Array.from({ length: 5 }, (_, i) => entry(`x${i + 1}`, `text ${i + 1}`, { ts: i })),
  );
  const bytes = readFileSync(path(root));
  bytes[bytes.indexOf("text 3") + 5] = 0x58;
  writeFileSync(path(root), bytes);
  expect((await listAll(store, { limit: 2 })).map(({ id }) => id)).toEqual(["x5", "x4", "x2", "x1"]);
});

test("a change that fails halfway leaves nothing of itself", async () => {
  const root = temporaryRoot();
  let failing = false;
  const fs: Fs = {
    ...realFs,
    readSync: (...args) => {
      if (failing) throw failure("EIO");
      return realFs.readSync(...args);
    },
  };
  const store = await openStore({ root, fs });
  await store.append(agent, [entry("old", "one")]);
  failing = true;
  await expect(store.append(agent, [entry("new", "two"), entry("old", "one")])).rejects.toMatchObject({
    reason: "LOG_STOPPED",
  });
  failing = false;
  expect(await ids(store)).toEqual(["old"]);
  expect(await store.append(agent, [entry("new", "two")])).toMatchObject({ outcomes: [{ status: "stored" }] });
  await store.close();
  expect(naiveRead(root).map(({ id }) => id)).toEqual(["old", "new"]);
});

test("the trash keeps what can't say when it expires, and one owner's trouble doesn't stop the sweep", async () => {
  const root = temporaryRoot();
  let now = 1_700_000_000_000;
  const odd: OwnerRef = { kind: "agent", id: "odd" };
  const broken: OwnerRef = { kind: "agent", id: "broken" };
  const store = await openStore({ root, now: () => now });
  const refs: string[] = [];
  for (const owner of [odd, broken, agent]) {
    await store.append(owner, [entry("a", "one")]);
    refs.push((await store.softDelete(owner, "")).ref.refId);
  }
  const meta = join(root, ".trash", refs[0], "meta.json");
  writeFileSync(meta, readFileSync(meta, "utf8").replace(/"(deletedAt|expiresAt)": \d+/g, '"$1": null'));
  mkdirSync(join(root, "agent", "broken"));
  writeFileSync(join(root, "agent", "broken", ".reverie.json"), "{");
  now += 31 * 24 * 3600 * 1000;
  expect(await store.sweepTrash(false)).toMatchObject({ deleted: 2 });
  expect((await store.listTrash(undefined)).map(({ refId }) => refId)).toEqual([refs[0]]);
  expect(await store.restore(odd, refs[0])).toMatchObject({ entries: 1 });
});
