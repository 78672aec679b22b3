import { existsSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { OwnerConfig } from "../../src/store/store.js";
import { agent, entry, listAll, openStore, temporaryRoot } from "./support.js";
import { type Before, watchedFs } from "./watched-fs.js";

// A step that can't be taken back is followed by one that fails: no answer may say that all is done, nor that nothing is.

/** The first call that matches fails with this code, once armed. */
class FailOnce {
  armed = false;
  readonly calls: string[];
  readonly fs: ReturnType<typeof watchedFs>["fs"];

  constructor(matches: (call: string, path: string) => boolean, code: string) {
    const before: Before = (call, path) => {
      if (!this.armed || !matches(call, path)) return undefined;
      this.armed = false;
      return Promise.reject(Object.assign(new Error(code), { code }));
    };
    ({ fs: this.fs, calls: this.calls } = watchedFs(before));
  }
}

const ids = async (store: Awaited<ReturnType<typeof openStore>>): Promise<string[]> =>
  (await listAll(store)).map(({ id }) => id).sort();

test("Clear isn't acknowledged when its log has the name but the directory's sync found the disk full", async () => {
  const root = temporaryRoot();
  let renamed = false;
  const failing = new FailOnce((call, path) => {
    renamed ||= call === "rename" && path.endsWith("episodic.jsonl");
    return renamed && call === "fsync" && path.endsWith("agent/x");
  }, "ENOSPC");
  const store = await openStore({ root, fs: failing.fs, reserveBytes: 4096 });
  await store.append(agent, [entry("a", "one"), entry("b", "two")]);
  failing.armed = true;
  await expect(store.clear(agent, ["episodic"])).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  expect(failing.armed).toBe(false);
  expect((await store.describe(agent, { minSeq: 0 })).writable).toBe(false);
});

test.each(["ENOSPC", "EMFILE"])(
  "Clear of two kinds that ends after the first by %s doesn't say that nothing was done",
  async (code) => {
    const failing = new FailOnce((call, path) => call === "write" && /semantic\.jsonl\.\d+\.tmp$/.test(path), code);
    const store = await openStore({ fs: failing.fs });
    await store.append(agent, [entry("a", "one"), entry("s", "two", { kind: "semantic" })]);
    failing.armed = true;
    await expect(store.clear(agent, ["episodic", "semantic"])).rejects.toMatchObject({ reason: "LOG_STOPPED" });
    expect(await ids(store)).toEqual(["s"]);
    expect(await store.clear(agent, ["episodic", "semantic"])).toMatchObject({ removed: 1 });
  },
);

test("a second Clear makes durable that the first one removed a quarantine file", async () => {
  const root = temporaryRoot();
  const quarantine = join(root, "agent", "x", "episodic.jsonl.quarantine");
  const failing = new FailOnce((call, path) => call === "fsync" && path.endsWith("agent/x"), "EIO");
  const store = await openStore({ root, fs: failing.fs });
  await store.append(agent, [entry("s", "one", { kind: "semantic" })]);
  writeFileSync(quarantine, "{}\n");
  failing.armed = true;
  await expect(store.clear(agent, ["episodic"])).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  expect(existsSync(quarantine)).toBe(false);
  failing.calls.length = 0;
  await store.clear(agent, ["episodic"]);
  expect(failing.calls).toContain("fsync x");
});

test("Restore doesn't say that nothing was done when the owner's config is in the payload by then", async () => {
  const config: OwnerConfig = { allowedKinds: ["semantic"], maxEpisodicBytes: 0, maxSemanticBytes: 0 };
  const failing = new FailOnce((call, path) => call === "rename" && path.endsWith("agent/x"), "EMFILE");
  const store = await openStore({ fs: failing.fs });
  await store.append(agent, [entry("a", "one")]);
  const { ref } = await store.softDelete(agent, "");
  await store.attach(agent, config, false);
  failing.armed = true;
  await expect(store.restore(agent, ref.refId)).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  expect(await store.restore(agent, ref.refId)).toMatchObject({ entries: 1 });
  expect(await store.config(agent)).toEqual({ config, attached: true });
});

test("a second HardDelete ends the removal that the first one broke off", async () => {
  const root = temporaryRoot();
  let renamed = false;
  const failing = new FailOnce((call, path) => {
    renamed ||= call === "rename" && path.includes(".leaving-");
    return renamed && call === "fsync";
  }, "EIO");
  const store = await openStore({ root, fs: failing.fs });
  await store.append(agent, [entry("a", "one")]);
  const { ref } = await store.softDelete(agent, "");
  failing.armed = true;
  await expect(store.hardDelete(agent, ref.refId)).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  const other = { kind: "agent", id: "other" } as const;
  await expect(store.hardDelete(other, ref.refId)).rejects.toMatchObject({ reason: "TRASH_NOT_FOUND" });
  failing.calls.length = 0;
  expect((await store.hardDelete(agent, ref.refId)).freedBytes).toBeGreaterThan(0);
  expect(failing.calls).toContain("fsync .trash");
  expect(readdirSync(join(root, ".trash"))).toEqual([]);
  await expect(store.hardDelete(agent, ref.refId)).rejects.toMatchObject({ reason: "TRASH_NOT_FOUND" });
});

test("a second HardDelete also removes what a later soft delete put under the same ref", async () => {
  const root = temporaryRoot();
  const failing = new FailOnce((call, path) => call === "fsync" && path.endsWith(".trash"), "EIO");
  const store = await openStore({ root, fs: failing.fs, now: () => 1_700_000_000_000 });
  await store.append(agent, [entry("a", "one")]);
  const { ref } = await store.softDelete(agent, "");
  failing.armed = true;
  await expect(store.hardDelete(agent, ref.refId)).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  await store.append(agent, [entry("b", "two")]);
  expect((await store.softDelete(agent, "")).ref.refId).toBe(ref.refId);
  await store.hardDelete(agent, ref.refId);
  expect(readdirSync(join(root, ".trash"))).toEqual([]);
});

test("HardDelete names its failure also for an owner whose live files can't be opened", async () => {
  const root = temporaryRoot();
  const failing = new FailOnce((call, path) => call === "rename" && path.includes(".leaving-"), "EIO");
  const store = await openStore({ root, fs: failing.fs });
  await store.append(agent, [entry("a", "one")]);
  const { ref } = await store.softDelete(agent, "");
  symlinkSync(root, join(root, "agent", "x"));
  failing.armed = true;
  await expect(store.hardDelete(agent, ref.refId)).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  expect((await store.hardDelete(agent, ref.refId)).freedBytes).toBeGreaterThan(0);
});

test("Restore of an owner whose config can't be understood says so", async () => {
  const root = temporaryRoot();
  const store = await openStore({ root });
  await store.append(agent, [entry("a", "one")]);
  const { ref } = await store.softDelete(agent, "");
  writeFileSync(join(root, ".trash", ref.refId, "payload", ".reverie.json"), "nonsense");
  await expect(store.restore(agent, ref.refId)).rejects.toMatchObject({ reason: "CONFIG_UNREADABLE" });
});
