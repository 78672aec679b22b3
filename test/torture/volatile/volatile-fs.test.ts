import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Fs, O_CREAT, O_RDWR } from "../../../memory-service/src/store/jsonl/fs.js";
import { seededRandom } from "../../lib/random.js";
import { setUp, syncDirectory, tree, visible } from "./volatile-support.js";

async function put(fs: Fs, path: string, content: string, position = 0): Promise<number> {
  const fd = await fs.open(path, O_RDWR | O_CREAT, 0o600);
  await fs.write(fd, Buffer.from(content), position);
  return fd;
}

test("what is written is seen at once, and on the disk after a sync", async () => {
  const { base, fs } = setUp();
  writeFileSync(join(base, "a"), "old");
  const fd = await put(fs, join(base, "a"), "new and longer");
  const into = Buffer.alloc(20);
  expect(fs.readSync(fd, into, 0, 20, 4)).toBe(10);
  expect(into.toString("utf8", 0, 10)).toBe("and longer");
  expect([fs.fstatSync(fd).size, fs.lstatSync(join(base, "a"))?.size]).toEqual([14, 14]);
  expect(tree(base)).toEqual({ a: "old" });
  await fs.fdatasync(fd);
  expect(tree(base)).toEqual({ a: "new and longer" });
  await fs.ftruncate(fd, 3);
  expect(tree(base)).toEqual({ a: "new and longer" });
  await fs.fdatasync(fd);
  expect(tree(base)).toEqual({ a: "new" });
});

test("a new file is found after a sync of its directory, with what was synced of it", async () => {
  const { base, fs } = setUp();
  const fd = await put(fs, join(base, "a"), "synced");
  await fs.fdatasync(fd);
  expect(tree(base)).toEqual({});
  await fs.write(fd, Buffer.from(", lost"), 6);
  await put(fs, join(base, "b"), "all lost");
  await syncDirectory(fs, base);
  expect(tree(base)).toEqual({ a: "synced", b: "" });
});

test("a rename waits for the directory's sync, and the old name stands until then", async () => {
  const { base, fs, afterPowerCut } = setUp();
  writeFileSync(join(base, "a"), "old");
  const fd = await put(fs, join(base, "a.tmp"), "new");
  await fs.fsync(fd);
  await fs.rename(join(base, "a.tmp"), join(base, "a"));
  expect(await visible(fs, base)).toEqual({ a: "new" });
  expect(tree(base)).toEqual({ a: "old" });
  expect(await visible(afterPowerCut(), base)).toEqual({ a: "old" });
  await syncDirectory(fs, base);
  expect(tree(base)).toEqual({ a: "new" });
});

test("a rename without a sync of the data leaves an empty file", async () => {
  const { base, fs } = setUp();
  writeFileSync(join(base, "a"), "old");
  await put(fs, join(base, "a.tmp"), "new");
  await fs.rename(join(base, "a.tmp"), join(base, "a"));
  await syncDirectory(fs, base);
  expect(tree(base)).toEqual({ a: "" });
});

test("a removed file is back unless its directory was synced, and stays readable where it is open", async () => {
  const { base, fs } = setUp();
  writeFileSync(join(base, "a"), "one");
  const fd = await fs.open(join(base, "a"), O_RDWR, 0);
  await fs.unlink(join(base, "a"));
  expect(fs.lstatSync(join(base, "a"))).toBeUndefined();
  expect(tree(base)).toEqual({ a: "one" });
  await syncDirectory(fs, base);
  expect(tree(base)).toEqual({});
  const into = Buffer.alloc(3);
  fs.readSync(fd, into, 0, 3, 0);
  expect(into.toString()).toBe("one");
});

test("a new directory needs a sync of its parent, and its files one of it", async () => {
  const { base, fs } = setUp();
  await fs.mkdir(join(base, "d"), 0o700);
  await fs.fdatasync(await put(fs, join(base, "d/a"), "one"));
  await syncDirectory(fs, join(base, "d"));
  expect(tree(base)).toEqual({});
  await put(fs, join(base, "d/b"), "two");
  await syncDirectory(fs, base);
  expect(tree(base)).toEqual({ "d/": "", "d/a": "one" });
});

test("a directory moves in one step when either end is synced", async () => {
  const { base, fs } = setUp();
  for (const name of ["from", "from/owner", "to"]) mkdirSync(join(base, name));
  writeFileSync(join(base, "from/owner/log"), "one");
  await fs.rename(join(base, "from/owner"), join(base, "to/payload"));
  await fs.mkdir(join(base, "from/owner"), 0o700);
  expect(tree(base)).toEqual({ "from/": "", "from/owner/": "", "from/owner/log": "one", "to/": "" });
  await syncDirectory(fs, join(base, "to"));
  expect(tree(base)).toEqual({ "from/": "", "to/": "", "to/payload/": "", "to/payload/log": "one" });
  await syncDirectory(fs, join(base, "from"));
  expect(tree(base)).toMatchObject({ "from/owner/": "" });
});

test("a removed tree goes with a sync of its parent", async () => {
  const { base, fs } = setUp();
  mkdirSync(join(base, "d"));
  writeFileSync(join(base, "d/a"), "one");
  await expect(fs.rmdir(join(base, "d"))).rejects.toMatchObject({ code: "ENOTEMPTY" });
  await fs.unlink(join(base, "d/a"));
  await fs.rmdir(join(base, "d"));
  expect(tree(base)).toEqual({ "d/": "", "d/a": "one" });
  await syncDirectory(fs, base);
  expect(tree(base)).toEqual({});
});

test("the lock file is a real one", async () => {
  const { base, fs } = setUp();
  const fd = await fs.open(join(base, ".lock"), O_RDWR | O_CREAT, 0o600);
  await fs.write(fd, Buffer.from("held"), 0);
  expect(fs.fstatSync(fd).ino).toBe(statSync(join(base, ".lock")).ino);
  expect(tree(base)).toEqual({ ".lock": "held" });
  await fs.close(fd);
});

test("a lying disk syncs later", async () => {
  const { base, fs } = setUp({ lateMs: 20 });
  writeFileSync(join(base, "a"), "old");
  const fd = await put(fs, join(base, "a"), "new");
  await fs.fdatasync(fd);
  expect(tree(base)).toEqual({ a: "old" });
  await expect.poll(() => tree(base)).toEqual({ a: "new" });
});

test("early writes leave any part of a change, and NULs before it", async () => {
  const { base, fs } = setUp({ earlyChance: 1, random: seededRandom(3) });
  const seen = new Set<string>();
  for (let i = 0; i < 40; i++) {
    await put(fs, join(base, `f${i}`), "abcdef");
    await syncDirectory(fs, base);
    seen.add(tree(base)[`f${i}`]);
  }
  expect([...seen].some((text) => text.startsWith("abc") && text.length < 6)).toBe(true);
  expect([...seen].some((text) => text.startsWith("\0") && text.endsWith("f"))).toBe(true);
});

test("after a power cut nothing reaches the disk, and no descriptor is left", async () => {
  const before = readdirSync("/proc/self/fd").length;
  const { base, fs } = setUp({ stepMs: 5 });
  const fd = await put(fs, join(base, "a"), "not synced");
  await syncDirectory(fs, base);
  const late = fs.fsync(fd);
  fs.powerOff();
  await late;
  expect(tree(base)).toEqual({ a: "" });
  await expect(fs.write(fd, Buffer.from("x"), 0)).rejects.toMatchObject({ code: "EIO" });
  await fs.close(fd);
  expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before);
});
