import { renameSync, rmSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { treeDigest } from "../../../test/torture/second-writer/tree-digest.js";
import { type Fs, realFs } from "../../src/store/jsonl/fs.js";
import { openJsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import type { OwnerRef } from "../../src/store/store.js";
import { agent, entry, listAll, openStore, temporaryRoot } from "./support.js";

const other: OwnerRef = { kind: "agent", id: "other" };
const late: OwnerRef = { kind: "agent", id: "late" };
const stopped = { reason: "LOG_STOPPED", retryAfterMs: 1000 };

/** A store in use, whose lock's file an operator took for a stale one. */
async function removedLock(fs: Fs = realFs) {
  const root = temporaryRoot();
  const said: string[] = [];
  const log = { info: () => {}, warn: () => {}, error: (_: object, message: string) => void said.push(message) };
  const first = await openStore({ root, fs, log });
  await first.append(agent, [entry("a", "acknowledged by the first")]);
  await first.append(other, [entry("o", "moved to the trash")]);
  const { ref } = await first.softDelete(other, "");
  rmSync(join(root, ".lock"));
  return { root, first, said, refId: ref.refId };
}

test("whoever loses the lock's file to another process writes nothing any more, and says so", async () => {
  const { root, first, said, refId } = await removedLock();
  const second = await openStore({ root });
  await second.append(agent, [entry("b", "acknowledged by the second")]);
  const before = treeDigest(root);

  const refused: (() => Promise<unknown>)[] = [
    () => first.append(agent, [entry("c", "too late")]),
    () => first.forget(agent, "a"),
    () => first.patch(agent, "a", () => '{"k":1}'),
    () => first.clear(agent, []),
    () => first.softDelete(agent, ""),
    () => first.restore(other, refId),
    () => first.hardDelete(other, refId),
    () => first.sweepTrash(false),
    () => first.attach(agent, { allowedKinds: ["episodic"], maxEpisodicBytes: 0, maxSemanticBytes: 0 }, false),
  ];
  for (const call of refused) await expect(call(), String(call)).rejects.toMatchObject(stopped);
  // Opening an owner may put a torn tail aside, which could be what the other one is writing.
  await second.append(late, [entry("p", "new")]);
  const withOther = treeDigest(root);
  expect(withOther).not.toBe(before);
  await expect(
    first.list(late, { kinds: ["episodic"], order: "newest", limit: 1, maxBytes: 1, minSeq: 0 }),
  ).rejects.toMatchObject(stopped);

  expect((await first.get(agent, "a", { minSeq: 0 })).entry?.text).toBe("acknowledged by the first");
  expect(first.health()).toMatchObject({ ok: false, message: expect.stringContaining("lock was removed") });
  expect((await first.describe(agent, { minSeq: 0 })).writable).toBe(false);
  expect(said.filter((message) => message.includes("lock was removed"))).toHaveLength(1);
  await first.close();
  expect(treeDigest(root)).toBe(withOther);

  await second.append(agent, [entry("d", "the second goes on")]);
  await second.close();
  const third = await openJsonlStore({ root, reserveBytes: 0 });
  expect((await listAll(third)).map(({ id }) => id).sort()).toEqual(["a", "b", "d"]);
  await third.close();
});

test("control: without the look at the file the first one writes beside the second", async () => {
  let locked: Stats | undefined;
  const blind: Fs = {
    ...realFs,
    // The first descriptor that a store looks at is the lock's.
    fstatSync: (fd) => {
      const stat = realFs.fstatSync(fd);
      locked ??= stat;
      return stat;
    },
    lstatSync: (path) => (path.endsWith("/.lock") ? locked : realFs.lstatSync(path)),
  };
  const { root, first } = await removedLock(blind);
  const second = await openStore({ root });
  const before = treeDigest(root);
  await first.append(agent, [entry("c", "beside the second")]);
  expect(treeDigest(root)).not.toBe(before);
  await second.close();
});

test("a data directory moved away under the service isn't begun anew in its old place", async () => {
  const { root, first } = await removedLock();
  renameSync(root, `${root}-moved`);
  await expect(first.append(agent, [entry("c", "nowhere")])).rejects.toMatchObject(stopped);
  await expect(first.append({ kind: "agent", id: "new" }, [entry("n", "nowhere")])).rejects.toMatchObject(stopped);
  expect(realFs.lstatSync(root)).toBeUndefined();
  renameSync(`${root}-moved`, root);
});

test("with its lock lost, an owner that a failed sync stopped isn't rewritten at closing", async () => {
  let failing = false;
  const root = temporaryRoot();
  const fs: Fs = {
    ...realFs,
    fdatasync: async (fd) => {
      if (failing) throw Object.assign(new Error("EIO"), { code: "EIO" });
      await realFs.fdatasync(fd);
    },
  };
  const first = await openJsonlStore({ root, fs, reserveBytes: 0 });
  await first.append(agent, [entry("a", "kept")]);
  failing = true;
  await expect(first.append(agent, [entry("b", "refused")])).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  failing = false;
  rmSync(join(root, ".lock"));
  const second = await openStore({ root });
  await second.append(agent, [entry("c", "acknowledged by the second")]);
  const { ino } = statSync(join(root, "agent/x/episodic.jsonl"));
  await first.close();
  expect(statSync(join(root, "agent/x/episodic.jsonl")).ino).toBe(ino);
  expect((await listAll(second)).map(({ id }) => id).sort()).toEqual(["a", "c"]);
});
