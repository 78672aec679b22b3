import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Fs, realFs } from "../../src/store/jsonl/fs.js";
import { KINDS, type WatchChange, type WatchStep } from "../../src/store/store.js";
import { agent, changesAfter, entry, listAll, openStore, temporaryRoot } from "./support.js";

/** Follows an owner in the background. */
class Watcher {
  readonly seen: WatchChange[] = [];
  cursor = 0;
  steps = 0;
  failed: unknown;
  private readonly abort = new AbortController();
  private readonly running: Promise<void>;

  constructor(steps: (signal: AbortSignal) => AsyncGenerator<WatchStep, void>) {
    this.running = this.follow(steps(this.abort.signal));
  }

  ids(): string[] {
    return this.seen.map((change) => ("upserted" in change ? `+${change.upserted.id}` : `-${change.deleted.id}`));
  }

  async stop(): Promise<void> {
    this.abort.abort();
    await this.running;
  }

  private async follow(steps: AsyncGenerator<WatchStep, void>): Promise<void> {
    try {
      for await (const step of steps) {
        this.steps++;
        this.seen.push(...step.changes);
        this.cursor = step.cursor;
      }
    } catch (error) {
      this.failed = error;
    }
  }
}

test("watchers beside busy writers miss nothing and see seqs rise", { timeout: 60_000 }, async () => {
  const store = await openStore({ durability: "none", compactMinBytes: 500 });
  const watch = (afterSeq: number | undefined) => (signal: AbortSignal) =>
    store.watch(agent, { kinds: KINDS, idleMs: 5, ...(afterSeq !== undefined && { afterSeq }) }, signal);
  const watchers = [new Watcher(watch(undefined)), new Watcher(watch(0)), new Watcher(watch(0))];
  await Promise.all(
    Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; i < 200; i++) {
        await store.append(agent, [entry(`${writer}-${i}`, `text ${i}`, { kind: KINDS[i % 3] })]);
        if (i % 3 === 0) await store.patch(agent, `${writer}-${i}`, () => `{"i":${i}}`);
        if (i % 2 === 0) await store.forget(agent, `${writer}-${i}`);
      }
    }),
  );
  const live = (await listAll(store)).map(({ id, meta }) => `${id} ${meta}`).sort();
  for (const watcher of watchers) {
    await expect.poll(() => replay(watcher.seen)).toEqual(live);
    const seqs = watcher.seen.map((change) => ("upserted" in change ? change.upserted.seq : change.deleted.seq));
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    expect(new Set(seqs).size).toBe(seqs.length);
    await watcher.stop();
    expect(watcher.failed).toBeUndefined();
  }
});

test("a watch from now says once that it is up to date, then its cursor in silence", async () => {
  const store = await openStore();
  await store.append(agent, [entry("before", "one")]);
  const watcher = new Watcher((signal) => store.watch(agent, { kinds: KINDS, idleMs: 20 }, signal));
  await expect.poll(() => watcher.steps).toBeGreaterThan(3);
  expect(watcher.seen).toEqual([]);
  expect(watcher.cursor).toBe(1);
  await store.append(agent, [entry("after", "two")]);
  await expect.poll(() => watcher.ids()).toEqual(["+after"]);
  await watcher.stop();
});

test("a resumed watch gets the latest versions and the deletions since its cursor", async () => {
  const root = await openStore();
  const { seq } = await root.append(agent, [entry("a", "one"), entry("b", "two"), entry("c", "three")]);
  await root.patch(agent, "a", () => '{"v":1}');
  await root.patch(agent, "a", () => '{"v":2}');
  await root.forget(agent, "b");
  await root.append(agent, [entry("d", "four")]);
  const { changes, cursor } = await changesAfter(root, seq);
  expect(changes).toMatchObject([
    { upserted: { id: "a", meta: '{"v":2}' } },
    { deleted: { id: "b" } },
    { upserted: { id: "d" } },
  ]);
  expect((await changesAfter(root, cursor)).changes).toEqual([]);
  await expect(changesAfter(root, cursor + 1)).rejects.toMatchObject({ reason: "SEQ_NOT_REACHED" });
});

test("clear, restore and caps end watches that can't be told what went", async () => {
  const store = await openStore({ defaults: { allowedKinds: KINDS, maxEpisodicBytes: 0, maxSemanticBytes: 1000 } });
  const changes: (() => Promise<unknown>)[] = [
    () => store.clear(agent, ["episodic"]),
    () =>
      store.append(
        agent,
        Array.from({ length: 20 }, (_, i) => entry(`s${i}`, "x".repeat(100), { kind: "semantic" })),
      ),
    () => store.softDelete(agent, ""),
  ];
  for (const change of changes) {
    const { seq } = await store.append(agent, [entry(`e${changes.indexOf(change)}`, "text")]);
    const open = new Watcher((signal) => store.watch(agent, { kinds: KINDS, idleMs: 1000 }, signal));
    await expect.poll(() => open.steps).toBe(1);
    await change();
    await expect.poll(() => open.failed).toMatchObject({ reason: "WATCH_CURSOR_EXPIRED" });
    await expect(changesAfter(store, seq)).rejects.toMatchObject({ reason: "WATCH_CURSOR_EXPIRED" });
  }
});

test("a watch stays open across the making of an owner, and across other owners' leaving", async () => {
  const store = await openStore();
  const other = { kind: "agent", id: "other" } as const;
  const watcher = new Watcher((signal) => store.watch(agent, { kinds: KINDS, idleMs: 1000 }, signal));
  await expect.poll(() => watcher.steps).toBe(1);
  await store.append(other, [entry("o", "one")]);
  await store.softDelete(other, "");
  await store.append(agent, [entry("a", "two")]);
  await expect.poll(() => watcher.ids()).toEqual(["+a"]);
  expect(watcher.failed).toBeUndefined();
  await watcher.stop();
});

test("an owner's second life starts above its first, also when its name was unused for a while", async () => {
  const store = await openStore();
  const { seq } = await store.append(agent, [entry("a", "one")]);
  const deleted = await store.softDelete(agent, "");
  expect(deleted.seq).toBeGreaterThan(seq);
  const second = await store.append(agent, [entry("a", "one")]);
  expect(second.seq).toBeGreaterThan(deleted.seq);
  expect(second.outcomes[0].status).toBe("stored");
  await store.forget(agent, "a");
  const restored = await store.restore(agent, deleted.ref.refId);
  expect(restored.seq).toBeGreaterThan(second.seq);
  expect((await listAll(store)).map(({ id }) => id)).toEqual(["a"]);
});

test("a replay of all gets past its first message where a floor is, and still ends when more is lost", async () => {
  const store = await openStore();
  const many = Array.from({ length: 300 }, (_, i) => entry(`id-${i}`, "x".repeat(1000)));
  await store.append(agent, many);
  const { ref } = await store.softDelete(agent, "");
  await store.restore(agent, ref.refId);
  const { changes, cursor } = await changesAfter(store, 0);
  expect(changes).toHaveLength(300);
  expect((await changesAfter(store, cursor)).changes).toEqual([]);
  const steps = store.watch(agent, { kinds: KINDS, afterSeq: 0, idleMs: 1000 }, new AbortController().signal);
  expect((await steps.next()).value?.changes.length).toBeLessThan(300);
  await store.clear(agent, ["episodic"]);
  await expect(steps.next()).rejects.toMatchObject({ reason: "WATCH_CURSOR_EXPIRED" });
});

test("legacy entries, which share seq 0, come in many messages, each once", async () => {
  const root = temporaryRoot();
  mkdirSync(join(root, "agent", "x"), { recursive: true });
  const lines = Array.from({ length: 5000 }, (_, i) => `{"id":"id-${i}","text":"${"y".repeat(100)}","ts":${i}}`);
  writeFileSync(join(root, "agent", "x", "episodic.jsonl"), `${lines.join("\n")}\n`);
  const store = await openStore({ root });
  await store.append(agent, [entry("ours", "x"), entry("before", "y")]);
  await store.forget(agent, "before");
  const seen: string[] = [];
  let most = 0;
  let first = true;
  for await (const step of store.watch(
    agent,
    { kinds: KINDS, afterSeq: 0, idleMs: 1000 },
    new AbortController().signal,
  )) {
    if (step.changes.length === 0) break;
    most = Math.max(most, step.changes.length);
    for (const change of step.changes) seen.push("upserted" in change ? change.upserted.id : `-${change.deleted.id}`);
    // Sent already, and gone before the replay is through.
    if (first) await store.forget(agent, "id-0");
    first = false;
  }
  expect(most).toBeLessThan(1000);
  expect(seen).toEqual([...Array.from({ length: 5000 }, (_, i) => `id-${i}`), "ours", "-id-0"]);
});

test("a second life keeps its floor when its first commit had to be repeated", async () => {
  let failing = false;
  const fs: Fs = {
    ...realFs,
    fdatasync: (fd) =>
      failing ? Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" })) : realFs.fdatasync(fd),
  };
  const store = await openStore({ fs });
  for (let i = 0; i < 5; i++) await store.append(agent, [entry(`a${i}`, "first life")]);
  await store.softDelete(agent, "");
  failing = true;
  await expect(store.append(agent, [entry("n", "new life")])).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  failing = false;
  await expect.poll(() => store.health().ok, { timeout: 5000 }).toBe(true);
  await store.append(agent, [entry("n", "new life")]);
  await expect(changesAfter(store, 3)).rejects.toMatchObject({ reason: "WATCH_CURSOR_EXPIRED" });
});

function replay(changes: readonly WatchChange[]): string[] {
  const live = new Map<string, string>();
  for (const change of changes) {
    if ("upserted" in change) live.set(change.upserted.id, change.upserted.meta);
    else live.delete(change.deleted.id);
  }
  return [...live].map(([id, meta]) => `${id} ${meta}`).sort();
}
