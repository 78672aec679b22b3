import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type MemoryClient, ReverieError, toProtoOwner } from "@reverie/client";
import { expect, onTestFinished, test } from "vitest";
import { clientOf, startService, temporaryDirectory } from "./support/service.js";

const owner = { kind: "agent", id: "hoarder" } as const;
const TEXT = "x".repeat(20_000);

/** A file system of a few MiB; undefined where it may not be mounted. */
function smallDisk(): string | undefined {
  const path = join(temporaryDirectory(), "disk");
  mkdirSync(path);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", path], { stdio: "pipe" });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync("umount", ["--lazy", path]));
  return path;
}

/** Remembers until it is refused; gives the ids that were acknowledged, and the refusal. */
async function fill(client: MemoryClient, prefix: string): Promise<{ ids: string[]; refusal: unknown }> {
  const ids: string[] = [];
  for (;;) {
    const id = `${prefix}-${ids.length}`;
    try {
      await client.remember(owner, { kind: "episodic", id, text: TEXT });
      ids.push(id);
    } catch (refusal) {
      return { ids, refusal };
    }
  }
}

function forget(client: MemoryClient, id: string): Promise<{ found: boolean }> {
  return client.memory.forget({ owner: toProtoOwner(owner), id });
}

async function idsOf(client: MemoryClient): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id, text } of client.entries(owner, { order: "oldest" })) {
    expect(text).toBe(TEXT);
    ids.push(id);
  }
  return ids;
}

test("a full disk refuses writes, still forgets, and takes writes again when there is space", async (context) => {
  const disk = smallDisk();
  if (disk === undefined) {
    console.log("skipped: mounting a tmpfs needs root");
    return context.skip("mounting a tmpfs needs root");
  }
  const dataDir = join(disk, "data");
  const ballast = [join(disk, "ballast-1"), join(disk, "ballast-2")];
  writeFileSync(ballast[0], Buffer.alloc(500_000));
  const service = await startService({ dataDir });
  const client = clientOf(service, { retry: { maxAttempts: 1 } });

  const { ids, refusal } = await fill(client, "first");
  expect(refusal).toBeInstanceOf(ReverieError);
  expect(refusal).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "DISK_FULL" });
  expect(ids.length).toBeGreaterThan(50);
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(ballast[1], Buffer.alloc(bavail * bsize));
  expect(statfsSync(disk).bavail).toBe(0);
  await expect(client.remember(owner, { kind: "semantic", id: "new log", text: TEXT })).rejects.toMatchObject({
    reason: "DISK_FULL",
  });
  expect(await idsOf(client)).toEqual(ids);

  // More tombstones than fit into what the last page of the log has left: they need the reserve.
  const forgotten = ids.slice(0, 40);
  expect(statSync(join(dataDir, ".reserve")).size).toBe(1024 * 1024);
  for (const id of forgotten) expect((await forget(client, id)).found).toBe(true);
  expect(statSync(join(dataDir, ".reserve")).size).toBe(0);
  expect(await idsOf(client)).toEqual(ids.slice(40));

  for (const path of ballast) rmSync(path);
  await client.remember(owner, { kind: "episodic", id: "resumed", text: TEXT });
  const expected = [...ids.slice(40), "resumed"];
  expect(await idsOf(client)).toEqual(expected);

  // A kill on the full disk, and a start on it.
  const again = await fill(client, "second");
  expect(again.refusal).toMatchObject({ reason: "DISK_FULL" });
  await service.end("SIGKILL");
  const restarted = await startService({ dataDir });
  const after = clientOf(restarted, { retry: { maxAttempts: 1 } });
  expect(await idsOf(after)).toEqual([...expected, ...again.ids]);
  expect((await forget(after, "resumed")).found).toBe(true);
  expect(await restarted.end("SIGTERM")).toMatchObject({ code: 0 });
});
