import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Fs, realFs } from "../../src/store/jsonl/fs.js";
import { openJsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import type { OwnerRef } from "../../src/store/store.js";
import { agent, entry, listAll, naiveRead, openStore, temporaryRoot } from "./support.js";

const other: OwnerRef = { kind: "agent", id: "other" };
const path = (root: string, owner = agent, kind = "episodic"): string =>
  join(root, owner.kind, owner.id, `${kind}.jsonl`);
const ids = async (store: Awaited<ReturnType<typeof openStore>>, owner = agent): Promise<string[]> =>
  (await listAll(store, { order: "oldest" }, owner)).map(({ id }) => id);

/** A real file system of which single calls fail. */
class FaultyFs {
  fail: ((call: string, path: string) => string | undefined) | undefined;
  /** Writes no more than this many bytes, then fails. */
  shortWrite: number | undefined;
  private readonly paths = new Map<number, string>();

  readonly fs: Fs = {
    ...realFs,
    open: async (path, flags, mode) => {
      this.check("open", path);
      const fd = await realFs.open(path, flags, mode);
      this.paths.set(fd, path);
      return fd;
    },
    write: async (fd, bytes, position) => {
      const path = this.paths.get(fd) ?? "";
      if (this.shortWrite !== undefined && path.endsWith(".jsonl")) {
        const some = bytes.subarray(0, this.shortWrite);
        if (some.length === 0) throw failure("ENOSPC");
        this.shortWrite = 0;
        return realFs.write(fd, some, position);
      }
      this.check("write", path);
      return realFs.write(fd, bytes, position);
    },
    fdatasync: async (fd) => {
      this.check("fdatasync", this.paths.get(fd) ?? "");
      return realFs.fdatasync(fd);
    },
    fsync: async (fd) => {
      this.check("fsync", this.paths.get(fd) ?? "");
      return realFs.fsync(fd);
    },
  };

  private check(call: string, path: string): void {
    const code = this.fail?.(call, path);
    if (code !== undefined) throw failure(code);
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

test("a failed sync stops its owner only; reads serve what is durable; writing resumes after a rewrite", async () => {
  const faulty = new FaultyFs();
  const root = temporaryRoot();
  const store = await openStore({ root, fs: faulty.fs });
  await store.append(agent, [entry("durable", "one")]);
  let failing = true;
  faulty.fail = (call, path) => (failing && call === "fdatasync" && path.includes("/agent/x/") ? "EIO" : undefined);
  const both = [store.append(agent, [entry("lost-1", "two")]), store.append(agent, [entry("lost-2", "three")])];
  for (const one of both)
    await expect(one).rejects.toMatchObject({ reason: "LOG_STOPPED", retryAfterMs: expect.any(Number) });
  failing = false;
  await expect(store.append(agent, [entry("too-early", "four")])).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  expect(await ids(store)).toEqual(["durable"]);
  expect(store.health()).toMatchObject({ ok: false, stoppedOwners: 1 });
  expect((await store.describe(agent, { minSeq: 0 })).writable).toBe(false);
  await store.append(other, [entry("fine", "five")]);
  // By itself: nobody may dare to write while health says no.
  await expect.poll(() => store.health().ok, { timeout: 5000 }).toBe(true);
  await store.append(agent, [entry("after", "six")]);
  expect(await ids(store)).toEqual(["durable", "after"]);
  await store.close();
  expect(naiveRead(root).map(({ id }) => id)).toEqual(["durable", "after"]);
});

test("a stopped log is rewritten at closing, so that nothing refused comes back", async () => {
  const faulty = new FaultyFs();
  const root = temporaryRoot();
  const store = await openStore({ root, fs: faulty.fs });
  await store.append(agent, [entry("durable", "one")]);
  let failing = true;
  faulty.fail = (call, path) => (failing && call === "fdatasync" && path.includes("/agent/x/") ? "EIO" : undefined);
  await expect(store.append(agent, [entry("refused", "two")])).rejects.toMatchObject({ reason: "LOG_STOPPED" });
  failing = false;
  await store.close();
  const again = await openStore({ root });
  expect(await ids(again)).toEqual(["durable"]);
});

test.each(["ENOSPC", "EDQUOT", "EFBIG"])(
  "%s refuses the write, changes nothing, and the next one works",
  async (code) => {
    const faulty = new FaultyFs();
    const root = temporaryRoot();
    const store = await openStore({ root, fs: faulty.fs });
    await store.append(agent, [entry("a", "one")]);
    const before = readFileSync(path(root));
    faulty.fail = (call, path) => (call === "write" && path.endsWith("episodic.jsonl") ? code : undefined);
    await expect(store.append(agent, [entry("b", "two")])).rejects.toMatchObject({ reason: "DISK_FULL" });
    expect(readFileSync(path(root))).toEqual(before);
    expect(store.health()).toMatchObject({ ok: true, diskFull: true });
    faulty.fail = undefined;
    await store.append(agent, [entry("b", "two")]);
    expect(store.health()).toMatchObject({ diskFull: false, message: "" });
    expect(await ids(store)).toEqual(["a", "b"]);
  },
);

test("a short write is cut back", async () => {
  const faulty = new FaultyFs();
  const root = temporaryRoot();
  const store = await openStore({ root, fs: faulty.fs });
  await store.append(agent, [entry("a", "one")]);
  const before = readFileSync(path(root));
  faulty.shortWrite = 20;
  await expect(store.append(agent, [entry("b", "two")])).rejects.toMatchObject({ reason: "DISK_FULL" });
  expect(readFileSync(path(root))).toEqual(before);
  faulty.shortWrite = undefined;
  await store.append(agent, [entry("c", "three")]);
  expect(await ids(store)).toEqual(["a", "c"]);
});

test("when one of two files can't be written, neither keeps anything", async () => {
  const faulty = new FaultyFs();
  const root = temporaryRoot();
  const store = await openStore({ root, fs: faulty.fs });
  await store.append(agent, [entry("a", "one"), entry("s", "two", { kind: "semantic" })]);
  faulty.fail = (call, path) => (call === "write" && path.endsWith("semantic.jsonl") ? "ENOSPC" : undefined);
  const mixed = store.append(agent, [entry("b", "three"), entry("t", "four", { kind: "semantic" })]);
  await expect(mixed).rejects.toMatchObject({ reason: "DISK_FULL" });
  faulty.fail = undefined;
  await store.append(agent, [entry("c", "five")]);
  await store.close();
  expect(
    naiveRead(root)
      .map(({ id }) => id)
      .sort(),
  ).toEqual(["a", "c", "s"]);
});

test("forgetting works on a full disk, from the space kept aside", async () => {
  const faulty = new FaultyFs();
  const root = temporaryRoot();
  const store = await openStore({ root, fs: faulty.fs, reserveBytes: 100_000 });
  await store.append(agent, [entry("a", "one")]);
  // Full until the reserve is given back.
  faulty.fail = (call, path) =>
    call === "write" && path.endsWith("episodic.jsonl") && statSync(join(root, ".reserve")).size > 0
      ? "ENOSPC"
      : undefined;
  await expect(store.append(agent, [entry("b", "two")])).rejects.toMatchObject({ reason: "DISK_FULL" });
  expect(await store.forget(agent, "a")).toMatchObject({ copies: 1 });
  expect(statSync(join(root, ".reserve")).size).toBe(0);
});

test("clear and soft delete work on a full disk, too", async () => {
  const faulty = new FaultyFs();
  const root = temporaryRoot();
  const store = await openStore({ root, fs: faulty.fs, reserveBytes: 100_000 });
  const isFull = (): boolean => statSync(join(root, ".reserve")).size > 0;
  await store.append(agent, [entry("a", "one"), entry("w", "two", { kind: "working" })]);
  await store.append(other, [entry("o", "three")]);
  faulty.fail = (call) => (call === "write" && isFull() ? "ENOSPC" : undefined);
  await expect(store.append(agent, [entry("b", "two")])).rejects.toMatchObject({ reason: "DISK_FULL" });
  expect(await store.clear(agent, ["episodic"])).toMatchObject({ removed: 1 });
  expect(await ids(store)).toEqual(["w"]);
  faulty.fail = undefined;
  writeFileSync(join(root, ".reserve"), "");
  await store.close();
  const again = await openStore({ root, fs: faulty.fs, reserveBytes: 100_000 });
  faulty.fail = (call) => (call === "write" && isFull() ? "ENOSPC" : undefined);
  expect(await again.softDelete(other, "")).toMatchObject({ moved: true });
});

test("a torn tail is put aside and the next write is not glued to it", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root });
  await first.append(agent, [entry("a", "one")]);
  await first.close();
  appendFileSync(path(root), '{"id":"torn","kind":"episodic","te');
  const second = await openStore({ root });
  expect((await second.describe(agent, { minSeq: 0 })).tornTails).toBe(1);
  await second.append(agent, [entry("b", "two")]);
  await second.close();
  expect(naiveRead(root).map(({ id }) => id)).toEqual(["a", "b"]);
  const torn = JSON.parse(readFileSync(`${path(root)}.torn`, "utf8")) as { base64: string };
  expect(Buffer.from(torn.base64, "base64").toString()).toBe('{"id":"torn","kind":"episodic","te');
  appendFileSync(path(root), "\0".repeat(5000));
  const third = await openStore({ root });
  expect((await third.describe(agent, { minSeq: 0 })).tornTails).toBe(2);
  expect(await ids(third)).toEqual(["a", "b"]);
});

test("a complete last line without its newline is kept", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root });
  await first.append(agent, [entry("a", "one")]);
  await first.append(agent, [entry("b", "two")]);
  await first.close();
  writeFileSync(path(root), readFileSync(path(root)).subarray(0, -1));
  const second = await openStore({ root });
  expect(await ids(second)).toEqual(["a", "b"]);
  await second.append(agent, [entry("c", "three")]);
  await second.close();
  expect(naiveRead(root).map(({ id }) => id)).toEqual(["a", "b", "c"]);
});

test.each(["forget", "patch"])(
  "a crash between the append and the erase of a %s is made good at opening",
  async (change) => {
    const root = temporaryRoot();
    const faulty = new FaultyFs();
    const first = await openStore({ root, fs: faulty.fs });
    await first.append(agent, [entry("a", "the secret text"), entry("b", "two")]);
    const before = readFileSync(path(root));
    if (change === "forget") await first.forget(agent, "a");
    else await first.patch(agent, "a", () => '{"n":1}');
    await first.close();
    // Put the erased bytes back, as if the erase had never reached the disk, then only half of it.
    for (const kept of [before.length, 40]) {
      const after = readFileSync(path(root));
      before.copy(after, 0, 0, kept);
      writeFileSync(path(root), after);
      const again = await openStore({ root });
      const live = await listAll(again, { order: "oldest" });
      expect(live.map(({ id }) => id)).toEqual(change === "forget" ? ["b"] : ["b", "a"].sort());
      expect((await again.describe(agent, { minSeq: 0 })).corruptLines).toBe(0);
      await again.close();
      const bytes = readFileSync(path(root), "utf8");
      expect(bytes.match(/the secret text/g)?.length ?? 0).toBe(change === "forget" ? 0 : 1);
    }
  },
);

test("ranges of a file whose bytes somebody moved about mean nothing", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root });
  await first.append(agent, [entry("a", "one"), entry("b", "two"), entry("c", "three"), entry("d", "four")]);
  await first.patch(agent, "a", () => '{"n":1}');
  await first.forget(agent, "b");
  await first.close();
  writeFileSync(path(root), readFileSync(path(root), "utf8").replace(/^\n+/, ""));
  const moved = readFileSync(path(root));
  const second = await openStore({ root });
  expect((await ids(second)).sort()).toEqual(["a", "c", "d"]);
  await second.close();
  expect(readFileSync(path(root))).toEqual(moved);
});

test("a range of a file whose bytes somebody moved about takes no part of a forget line", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root });
  await first.append(agent, [entry("a", "one"), entry("kept", "two")]);
  await first.forget(agent, "a");
  await first.append(agent, [entry("b", "three")]);
  await first.forget(agent, "b");
  await first.close();
  const log = readFileSync(path(root), "utf8");
  const [line] = /\{"forget":"a".*\n/.exec(log) ?? [""];
  // What the range of b names begins with the end of that line now, and has a bad line in it.
  writeFileSync(path(root), `\0\0\n${log.replace(line, `${line}{"id":"bad\n`)}`);
  const second = await openStore({ root });
  expect(await ids(second)).toEqual(["kept"]);
  const { outcomes } = await second.append(agent, [entry("a", "one")]);
  expect(outcomes[0].status).toBe("refused");
  await second.close();
  expect(readFileSync(path(root), "utf8")).toContain(line);
});

test("clear takes the torn tails of every kind along, also where nothing is live", async () => {
  const root = temporaryRoot();
  const first = await openStore({ root });
  await first.append(agent, [entry("a", "one")]);
  await first.forget(agent, "a");
  await first.close();
  appendFileSync(path(root), '{"id":"private');
  const second = await openStore({ root });
  expect((await second.describe(agent, { minSeq: 0 })).tornTails).toBe(1);
  await second.clear(agent, ["episodic"]);
  expect(existsSync(`${path(root)}.torn`)).toBe(false);
});

test("tombstones whose time is over are waste", async () => {
  let now = 1_700_000_000_000;
  const store = await openStore({ compactMinBytes: 1000, durability: "none", now: () => now });
  for (let i = 0; i < 40; i++) {
    await store.append(agent, [entry(`id-${i}`, "ok")]);
    await store.forget(agent, `id-${i}`);
    now += 12 * 3600 * 1000;
  }
  await expect.poll(() => store.counters.compactions).toBeGreaterThan(0);
  expect((await store.describe(agent, { minSeq: 0 })).kinds[0].diskBytes).toBeLessThan(3000);
});

test("a log that another process appended to is read anew before the next write", async () => {
  const root = temporaryRoot();
  const store = await openStore({ root });
  await store.append(agent, [entry("a", "one")]);
  appendFileSync(path(root), '{"id":"theirs","text":"from elsewhere","ts":5}\n');
  await store.append(agent, [entry("b", "two")]);
  expect((await ids(store)).sort()).toEqual(["a", "b", "theirs"]);
});

test("a second store on the same directory is refused within a second, with its holder named", async () => {
  const root = temporaryRoot();
  await openStore({ root });
  const started = performance.now();
  await expect(openJsonlStore({ root })).rejects.toThrow(new RegExp(`in use by process ${process.pid} `));
  expect(performance.now() - started).toBeLessThan(1000);
});

test("a data directory of a newer format is refused, and left alone", async () => {
  const root = temporaryRoot();
  writeFileSync(join(root, "FORMAT"), "reverie-memory 2\n");
  await expect(openJsonlStore({ root })).rejects.toThrow(/format 2.*up to 1/s);
  expect(readFileSync(join(root, "FORMAT"), "utf8")).toBe("reverie-memory 2\n");
});

test.each(["FORMAT", ".key", ".seq"])("a FIFO in place of %s is named, and keeps no start waiting", async (name) => {
  const root = temporaryRoot();
  execFileSync("mkfifo", [join(root, name)]);
  await expect(openJsonlStore({ root })).rejects.toThrow(`${join(root, name)} doesn't`);
});
