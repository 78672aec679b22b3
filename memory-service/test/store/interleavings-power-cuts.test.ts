import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { volatileFs } from "../../../test/torture/volatile/volatile-fs.js";
import { type Fs, realFs } from "../../src/store/jsonl/fs.js";
import type { JsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import { agent, entry, listAll, naiveRead, openStore, temporaryRoot } from "./support.js";
import { Hold, isErase, watchedFs } from "./watched-fs.js";

const a = entry("a", "the secret text", { meta: '{"n":0}' });
const b = entry("b", "two");
const path = (root: string, kind = "episodic"): string => join(root, "agent", "x", `${kind}.jsonl`);
const metas = async (store: JsonlStore): Promise<string[]> =>
  (await listAll(store, { order: "oldest" })).map(({ id, meta }) => `${id} ${meta}`);
const change = (store: JsonlStore, name: string): Promise<unknown> =>
  name === "forget" ? store.forget(agent, "a") : store.patch(agent, "a", () => '{"n":1}');

/** A store on a disk whose page cache is lost at a cut: `base` holds what is durable. */
async function volatileStore(wrap: (disk: Fs) => Fs): Promise<{ store: JsonlStore; base: string }> {
  const base = temporaryRoot();
  const store = await openStore({ root: base, fs: wrap(volatileFs({ base, limbo: temporaryRoot() })) });
  return { store, base };
}

/** A directory as the power cut leaves it: the erase of `a` reached the disk up to this share of its bytes. */
async function cutWhileErasing(name: string, share: number, syncsFirst = true): Promise<string> {
  const cut = temporaryRoot();
  let armed = false;
  let base = "";
  const opened = await volatileStore((disk) => ({
    ...disk,
    fdatasync: (fd) => (armed && !syncsFirst ? Promise.resolve() : disk.fdatasync(fd)),
    write: async (fd, bytes, position) => {
      if (armed && isErase(bytes)) {
        armed = false;
        cpSync(base, cut, { recursive: true });
        const file = readFileSync(path(cut));
        file.fill(0x0a, position, position + Math.floor(bytes.length * share));
        writeFileSync(path(cut), file);
      }
      return disk.write(fd, bytes, position);
    },
  }));
  base = opened.base;
  await opened.store.append(agent, [a, b]);
  armed = true;
  await change(opened.store, name);
  expect(armed).toBe(false);
  return cut;
}

test.each(["forget", "patch"])(
  "a power cut in the middle of the erase of a %s: it is carried through at opening",
  async (name) => {
    for (const share of [0, 0.02, 0.5, 0.98, 1]) {
      const root = await cutWhileErasing(name, share);
      const store = await openStore({ root });
      const [outcome] = (await store.append(agent, [a])).outcomes;
      expect(await store.describe(agent, { minSeq: 0 })).toMatchObject({ corruptLines: 0, tornTails: 0, seq: 3 });
      if (name === "forget") {
        expect(outcome).toMatchObject({ status: "refused", error: { reason: "ENTRY_FORGOTTEN" } });
        expect(await metas(store)).toEqual(["b "]);
        expect(readFileSync(path(root), "utf8")).not.toMatch(/secret|"id":"a"/);
      } else {
        expect(outcome).toMatchObject({ status: "already", entry: { seq: 3, ord: 1, meta: '{"n":1}' } });
        expect(await metas(store)).toEqual(['a {"n":1}', "b "]);
        expect(readFileSync(path(root), "utf8").match(/the secret text/g)).toHaveLength(1);
      }
      await store.close();
      expect(naiveRead(root).map(({ id }) => id)).toEqual(name === "forget" ? ["b"] : ["b", "a"]);
    }
  },
);

test("the same cut before what replaces the entry is synced: the entry is neither kept nor forgotten", async () => {
  const forgotten = await openStore({ root: await cutWhileErasing("forget", 0.5, false) });
  expect(await forgotten.describe(agent, { minSeq: 0 })).toMatchObject({ corruptLines: 1, seq: 2 });
  const patched = await openStore({ root: await cutWhileErasing("patch", 1, false) });
  expect(await metas(patched)).toEqual(["b "]);
});

/** A directory as kill -9 leaves it while the erase of a patch waits. */
async function killBeforeErase(under: Fs = realFs): Promise<string> {
  const root = temporaryRoot();
  const killed = temporaryRoot();
  const hold = new Hold((call) => call === "erase");
  const { fs } = watchedFs(hold.before, under);
  const store = await openStore({ root, fs });
  await store.append(agent, [a, b]);
  hold.armed = true;
  const patching = store.patch(agent, "a", () => '{"n":1}');
  await hold.reached;
  cpSync(root, killed, { recursive: true });
  hold.release();
  await patching;
  return killed;
}

test("a crash between PatchMeta's append and its erase: the new version alone is left, in the old one's place", async () => {
  const root = await killBeforeErase();
  expect(readFileSync(path(root), "utf8").match(/the secret text/g)).toHaveLength(2);
  const store = await openStore({ root });
  expect(await metas(store)).toEqual(['a {"n":1}', "b "]);
  expect(await store.get(agent, "a", { minSeq: 0 })).toMatchObject({ copies: 1, seq: 3, entry: { seq: 3, ord: 1 } });
  const bytes = readFileSync(path(root), "utf8");
  expect(bytes.match(/the secret text/g)).toHaveLength(1);
  expect(bytes).toMatch(/^\n{20,}\{"id":"b"/);
});

test("the same crash where the erase overtakes the append loses the entry", async () => {
  const root = temporaryRoot();
  const killed = temporaryRoot();
  let late: (() => Promise<number>) | undefined;
  let armed = false;
  const overtaking: Fs = {
    ...realFs,
    write: async (fd, bytes, position) => {
      if (!armed) return realFs.write(fd, bytes, position);
      if (!isErase(bytes)) {
        late = () => realFs.write(fd, bytes, position);
        return bytes.length;
      }
      const written = await realFs.write(fd, bytes, position);
      cpSync(root, killed, { recursive: true });
      await late?.();
      return written;
    },
  };
  const store = await openStore({ root, fs: overtaking });
  await store.append(agent, [a, b]);
  armed = true;
  await store.patch(agent, "a", () => '{"n":1}');
  expect(await metas(await openStore({ root: killed }))).toEqual(["b "]);
});

const batch = [entry("e", "episodic"), entry("s", "semantic", { kind: "semantic" })];

/** A directory cut when, of one batch, the episodic log is synced and the semantic one is not. */
async function cutBetweenSyncs(waits: boolean): Promise<{ root: string; acknowledgedAtCut: boolean }> {
  const root = temporaryRoot();
  const hold = new Hold((call, path) => call === "fdatasync" && path.endsWith("semantic.jsonl"));
  let acknowledged = false;
  const { store, base } = await volatileStore((disk) => {
    if (waits) return watchedFs(hold.before, disk).fs;
    let syncs = 0;
    const semantic = new Set<number>();
    return {
      ...disk,
      open: async (path, flags, mode) => {
        const fd = await disk.open(path, flags, mode);
        if (path.endsWith("semantic.jsonl")) semantic.add(fd);
        return fd;
      },
      // The first sync of the semantic log takes place.
      fdatasync: (fd) => (semantic.has(fd) && ++syncs > 1 ? Promise.resolve() : disk.fdatasync(fd)),
    };
  });
  await store.append(agent, [entry("before", "one"), entry("before-s", "one", { kind: "semantic" })]);
  hold.armed = true;
  const appending = store.append(agent, batch).then(() => {
    acknowledged = true;
  });
  if (waits) {
    await hold.reached;
    await expect.poll(() => readFileSync(path(base), "utf8")).toContain('"id":"e"');
  } else await appending;
  cpSync(base, root, { recursive: true });
  const acknowledgedAtCut = acknowledged;
  hold.release();
  await appending;
  return { root, acknowledgedAtCut };
}

test("episodic synced and semantic not in one batch, then a power cut: nothing was acknowledged, and a retry stores the rest once", async () => {
  const { root, acknowledgedAtCut } = await cutBetweenSyncs(true);
  expect(acknowledgedAtCut).toBe(false);
  const store = await openStore({ root });
  const ids = async (): Promise<string[]> => (await listAll(store, { order: "oldest" })).map(({ id }) => id);
  expect((await ids()).sort()).toEqual(["before", "before-s", "e"]);
  const { outcomes, seq } = await store.append(agent, batch);
  expect(outcomes).toMatchObject([
    { status: "already", entry: { seq: 3 } },
    { status: "stored", entry: { seq: 4 } },
  ]);
  expect(seq).toBe(4);
  expect((await ids()).sort()).toEqual(["before", "before-s", "e", "s"]);
  expect(await store.describe(agent, { minSeq: 0 })).toMatchObject({ corruptLines: 0, tornTails: 0 });
});

test("the same cut where the semantic log's sync is not waited for loses what was acknowledged", async () => {
  const { root, acknowledgedAtCut } = await cutBetweenSyncs(false);
  expect(acknowledgedAtCut).toBe(true);
  const store = await openStore({ root });
  expect((await listAll(store)).map(({ id }) => id).sort()).toEqual(["before", "before-s", "e"]);
});

test("episodic synced and the semantic log's sync failed in one batch: neither is served, and neither comes back", async () => {
  const root = temporaryRoot();
  let failing = false;
  const { fs } = watchedFs((call, path) =>
    failing && call === "fdatasync" && path.endsWith("semantic.jsonl")
      ? Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" }))
      : undefined,
  );
  const store = await openStore({ root, fs });
  await store.append(agent, [entry("before", "one")]);
  failing = true;
  await expect(store.append(agent, batch)).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  expect((await listAll(store)).map(({ id }) => id)).toEqual(["before"]);
  failing = false;
  await expect.poll(() => store.health().ok, { timeout: 5000 }).toBe(true);
  expect(naiveRead(root).map(({ id }) => id)).toEqual(["before"]);
  expect((await store.append(agent, batch)).outcomes).toMatchObject([{ status: "stored" }, { status: "stored" }]);
});

test("a failed sync, then kill -9 while the owner is stopped: nothing that was refused comes back", async () => {
  const root = temporaryRoot();
  const killed = temporaryRoot();
  let failing = false;
  const { fs } = watchedFs((call) =>
    failing && ["fdatasync", "fsync"].includes(call)
      ? Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" }))
      : undefined,
  );
  const store = await openStore({ root, fs });
  await store.append(agent, [a, entry("sem", "two", { kind: "semantic" })]);
  const before = [readFileSync(path(root)), readFileSync(path(root, "semantic"))];
  failing = true;
  await expect(store.append(agent, batch)).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  await expect(store.patch(agent, "a", () => '{"n":1}')).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  cpSync(root, killed, { recursive: true });
  failing = false;
  expect([readFileSync(path(killed)), readFileSync(path(killed, "semantic"))]).toEqual(before);
  expect((await metas(await openStore({ root: killed }))).sort()).toEqual(['a {"n":0}', "sem "]);
});
