import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Follower } from "./follower.js";
import { agent, changesAfter, entry, listAll, openStore, temporaryRoot } from "./support.js";
import { Hold, watchedFs } from "./watched-fs.js";

const DAY_MS = 86_400_000;
const path = (root: string): string => join(root, "agent", "x", "episodic.jsonl");
const refOf = (day: number, n = 1): string =>
  createHash("sha256")
    .update(`memory|file|agent|x|${day}${n > 1 ? `|${n}` : ""}`)
    .digest("hex")
    .slice(0, 16);
const rising = (seqs: readonly number[]): boolean => seqs.every((seq, i) => i === 0 || seq > seqs[i - 1]);

test("a watch open across Restore ends when the restored owner is there, and not before; listing again shows all of it", async () => {
  const root = temporaryRoot();
  const hold = new Hold((call, path) => call === "rename" && path === join(root, "agent", "x"));
  const store = await openStore({ root, fs: watchedFs(hold.before).fs });
  await store.append(agent, [entry("a", "one"), entry("b", "two", { kind: "semantic" })]);
  const { ref, seq } = await store.softDelete(agent, "");
  // A present life that holds nothing but what it forgot.
  await store.append(agent, [entry("c", "three")]);
  const forgot = await store.forget(agent, "c");
  expect(forgot.seq).toBeGreaterThan(seq);

  const plain = store.watch(
    agent,
    { kinds: ["episodic"], afterSeq: forgot.seq, idleMs: 60_000 },
    new AbortController().signal,
  );
  expect((await plain.next()).value).toEqual({ changes: [], cursor: forgot.seq });
  let ended: unknown;
  const waiting = plain.next().catch((error: unknown) => {
    ended = error;
  });
  const follower = new Follower(store, undefined);
  await expect.poll(() => follower.quiet).toBe(1);

  hold.armed = true;
  const restoring = store.restore(agent, ref.refId);
  await hold.reached;
  expect([ended, follower.events]).toEqual([undefined, []]);
  hold.release();
  const restored = await restoring;
  await waiting;
  expect(ended).toMatchObject({ reason: "WATCH_CURSOR_EXPIRED" });
  await expect.poll(() => [...follower.live.keys()].sort()).toEqual(["a", "b"]);
  expect(follower.events).toEqual(["anew", "+a", "+b"]);
  expect(restored).toMatchObject({ entries: 2 });
  expect(restored.seq).toBeGreaterThan(forgot.seq);
  await expect(changesAfter(store, forgot.seq)).rejects.toMatchObject({ reason: "WATCH_CURSOR_EXPIRED" });
  const after = await store.append(agent, [entry("d", "four")]);
  expect((await changesAfter(store, restored.seq)).changes).toMatchObject([{ upserted: { id: "d", seq: after.seq } }]);
  await follower.stop();
});

test("soft delete, recreate, restore with a watcher attached: it ends up with what is there, at every step", async () => {
  const store = await openStore();
  const seqs: number[] = [];
  const live = async (): Promise<string[]> => (await listAll(store, { order: "oldest" })).map(({ id }) => id).sort();
  seqs.push((await store.append(agent, [entry("a", "one"), entry("b", "two")])).seq);
  const follower = new Follower(store, 0);
  const agrees = async (): Promise<void> => {
    const wanted = await live();
    await expect.poll(() => [...follower.live.keys()].sort()).toEqual(wanted);
  };
  await agrees();
  const deleted = await store.softDelete(agent, "");
  seqs.push(deleted.seq);
  await agrees();
  expect(follower.live.size).toBe(0);
  seqs.push((await store.append(agent, [entry("a", "another life"), entry("c", "three")])).seq);
  await agrees();
  expect(follower.live.get("a")).toBe("another life");

  // A restore that is refused disturbs nobody.
  const events = follower.events.length;
  await expect(store.restore(agent, deleted.ref.refId)).rejects.toMatchObject({ reason: "TRASH_RESTORE_CONFLICT" });
  seqs.push((await store.forget(agent, "c")).seq);
  await agrees();
  expect(follower.events.slice(events)).toEqual(["-c"]);

  seqs.push((await store.forget(agent, "a")).seq);
  const restored = await store.restore(agent, deleted.ref.refId);
  seqs.push(restored.seq);
  await agrees();
  expect([...follower.live]).toEqual([
    ["a", "one"],
    ["b", "two"],
  ]);
  seqs.push((await store.append(agent, [entry("e", "five")])).seq);
  await agrees();
  expect(follower.events).toEqual(["+a", "+b", "anew", "+a", "+c", "-c", "-a", "anew", "+a", "+b", "+e"]);
  expect(seqs).toSatisfy(rising);
  expect(follower.failed).toBeUndefined();
  // What the life in between forgot stays forgotten.
  expect((await store.append(agent, [entry("c", "three")])).outcomes).toMatchObject([
    { status: "refused", error: { reason: "ENTRY_FORGOTTEN" } },
  ]);
  await follower.stop();
});

test("two soft deletes a day with and without new data: new data gets a ref of its own, without it the ref stays", async () => {
  const root = temporaryRoot();
  const day = 20_422;
  const now = day * DAY_MS + 1000;
  const store = await openStore({ root, now: () => now });
  await store.append(agent, [entry("a", "one")]);
  const bytes = readFileSync(path(root));
  const first = await store.softDelete(agent, "the first");
  expect(first).toMatchObject({ moved: true, ref: { refId: "58487d231adb0a5c", reason: "the first" } });
  expect(first.ref.refId).toBe(refOf(day));
  const again = await store.softDelete(agent, "nothing there");
  expect(again).toMatchObject({ moved: false, ref: { refId: refOf(day), reason: "the first", hasPayload: true } });
  expect(readFileSync(join(root, ".trash", refOf(day), "payload", "episodic.jsonl"))).toEqual(bytes);

  await store.append(agent, [entry("b", "two")]);
  const second = await store.softDelete(agent, "the second");
  expect(second).toMatchObject({ moved: true, ref: { refId: refOf(day, 2), reason: "the second" } });
  expect(second.seq).toBeGreaterThan(first.seq);
  expect(await store.softDelete(agent, "")).toMatchObject({ moved: false });
  expect(readdirSync(join(root, ".trash")).sort()).toEqual([refOf(day), refOf(day, 2)].sort());
  expect(readFileSync(join(root, ".trash", refOf(day), "payload", "episodic.jsonl"))).toEqual(bytes);

  await store.restore(agent, refOf(day));
  expect((await listAll(store)).map(({ id }) => id)).toEqual(["a"]);
  // Its ref is free again.
  expect(await store.softDelete(agent, "the third")).toMatchObject({ moved: true, ref: { refId: refOf(day) } });
  await store.restore(agent, refOf(day, 2));
  expect((await listAll(store)).map(({ id }) => id)).toEqual(["b"]);
});

test("two soft deletes across midnight: each has its day's ref, and without new data the newest one stays", async () => {
  const root = temporaryRoot();
  const day = 20_500;
  let now = (day + 1) * DAY_MS - 1;
  const store = await openStore({ root, now: () => now });
  await store.append(agent, [entry("a", "one")]);
  expect(await store.softDelete(agent, "")).toMatchObject({ moved: true, ref: { refId: refOf(day), deletedAt: now } });
  now += 1;
  expect(await store.softDelete(agent, "")).toMatchObject({ moved: false, ref: { refId: refOf(day) } });
  expect(await store.listTrash(agent)).toHaveLength(1);
  await store.append(agent, [entry("b", "two")]);
  expect(await store.softDelete(agent, "")).toMatchObject({
    moved: true,
    ref: { refId: refOf(day + 1), deletedAt: now, expiresAt: now + 30 * DAY_MS },
  });
  expect((await store.listTrash(agent)).map(({ refId }) => refId)).toEqual([refOf(day + 1), refOf(day)]);
  expect(await store.softDelete(agent, "")).toMatchObject({ moved: false, ref: { refId: refOf(day + 1) } });

  // An owner that never held anything: today's id, and no payload.
  const other = { kind: "agent", id: "never" } as const;
  const nothing = await store.softDelete(other, "");
  expect(nothing).toMatchObject({ moved: false, ref: { hasPayload: false } });
  // A file of somebody else's is data, too.
  mkdirSync(join(root, "agent", "x"), { recursive: true });
  writeFileSync(join(root, "agent", "x", "notes.md"), "theirs");
  expect(await store.softDelete(agent, "")).toMatchObject({ moved: true, ref: { refId: refOf(day + 1, 2) } });
  expect(readFileSync(join(root, ".trash", refOf(day + 1, 2), "payload", "notes.md"), "utf8")).toBe("theirs");
});
