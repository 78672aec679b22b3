import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realFs } from "../../src/store/jsonl/fs.js";
import { encodeForget } from "../../src/store/jsonl/line.js";
import type { OwnerRef } from "../../src/store/store.js";
import { alter, check, codes, kept, logOf, makeOwner, problemsOf, served, withStore } from "./check-support.js";
import { agent, changesAfter, entry, exportText, listAll, recallAll, temporaryRoot } from "./support.js";

const corruptLines = (root: string, owner: OwnerRef = agent): Promise<number> =>
  withStore(root, async (store) => (await store.describe(owner, { minSeq: 0 })).corruptLines);

/** Three entries: one bad, one stale, one good, and half a line behind. */
async function damaged(): Promise<string> {
  const root = temporaryRoot();
  await makeOwner(root, ["a", "b", "c"], { meta: '{"n":1.50}' });
  alter(logOf(root), (text) => `${text.replace('{"id":"a"', '?"id":"a"').replace("text of b", "text of B")}{"id":"ha`);
  return root;
}

test("fix puts bad lines into quarantine and the torn tail aside; the service then counts nothing corrupt", async () => {
  const root = await damaged();
  const log = logOf(root);
  alter(log, (text) => text.replace("text of B", "text of b"));
  const [bad = ""] = readFileSync(log, "utf8").split("\n");
  const before = Date.now();
  const { findings, summary } = await check(root, { fix: true });
  expect(findings.map(({ problem, action, done }) => [problem, action, done])).toEqual([
    ["bad-line", "quarantine", true],
    ["torn-tail", "cut", true],
  ]);
  expect(summary).toMatchObject({ fixed: 2, remaining: 0 });
  const [record] = kept(log, "quarantine");
  expect(record).toMatchObject({ at: 0, line: 1, problem: "bad-line" });
  expect(record.when).toBeGreaterThanOrEqual(before);
  expect(record.bytes.toString()).toBe(bad);
  expect(kept(log, "torn").map(({ bytes }) => bytes.toString())).toEqual(['{"id":"ha']);
  expect(statSync(`${log}.quarantine`).mode & 0o777).toBe(0o600);
  expect(await served(root)).toEqual(["b", "c"]);
  expect(await corruptLines(root)).toBe(0);
  expect((await check(root, { fix: true, adopt: true })).findings).toEqual([]);
});

test("fix alone leaves stale lines where they are, counted", async () => {
  const root = await damaged();
  const { summary } = await check(root, { fix: true });
  expect(summary).toMatchObject({ fixed: 2, remaining: 1 });
  expect(await corruptLines(root)).toBe(1);
  expect(problemsOf(await check(root, { fix: true }))).toEqual(["stale-line"]);
});

test("adopt serves a stale line as it stands, in its place, and tells those who watch", async () => {
  const root = await damaged();
  const log = logOf(root);
  const stale = readFileSync(log, "utf8").split("\n")[1];
  const checked = await check(root, { adopt: true });
  expect(checked.findings.map(({ problem, done }) => [problem, done])).toEqual([
    ["bad-line", false],
    ["stale-line", true],
    ["torn-tail", true],
  ]);
  expect(kept(log, "quarantine")).toMatchObject([{ line: 2, problem: "stale-line" }]);
  expect(kept(log, "quarantine")[0].bytes.toString()).toBe(stale);
  expect(readFileSync(log, "utf8")).not.toContain(stale);
  await withStore(root, async (store) => {
    expect((await listAll(store)).map(({ id, seq, ord }) => [id, seq, ord])).toEqual([
      ["c", 3, 3],
      ["b", 4, 2],
    ]);
    const { entry: found } = await store.get(agent, "b", { minSeq: 4 });
    expect(found).toMatchObject({ text: "text of B", meta: '{"n":1.50}', ts: 1_700_000_000_000 });
    expect((await recallAll(store, "TEXT OF B")).entries.map(({ id }) => id)).toEqual(["b"]);
    expect((await changesAfter(store, 3)).changes).toMatchObject([{ upserted: { id: "b", text: "text of B" } }]);
    expect((await exportText(store)).match(/"id":"b"/g)).toHaveLength(1);
    expect(await store.append(agent, [entry("d", "next")])).toMatchObject({ seq: 5 });
  });
  expect(problemsOf(await check(root, { adopt: true }))).toEqual(["bad-line"]);
});

test("a line that another program spelled anew is adopted with its meta, token for token", async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["a", "b"]);
  await withStore(root, (store) => store.patch(agent, "a", () => '{"n":9007199254740993}'));
  alter(logOf(root), (text) =>
    text.replace(/^\{"id":"a".*$/m, (line) => line.replace('"text":', ' "text" : ').replace("993}", "993 }")),
  );
  expect(await served(root)).toEqual(["b"]);
  await check(root, { adopt: true });
  await withStore(root, async (store) => {
    const { entry: found } = await store.get(agent, "a", { minSeq: 0 });
    expect(found).toMatchObject({ text: "text of a", meta: '{"n":9007199254740993}', seq: 4, ord: 1 });
    // The meta it was first sent with is still known.
    expect((await store.append(agent, [entry("a", "text of a")])).outcomes).toMatchObject([{ status: "already" }]);
  });
});

test("seqs and places that are the damage itself are not taken over", async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["a", "b", "c", "d"]);
  alter(logOf(root), (text) =>
    text
      .replace('"seq":1,', '"seq":3,')
      .replace('"seq":2,', '"seq":9007199254740990,')
      .replace("text of d", "text of D"),
  );
  await check(root, { adopt: true });
  await withStore(root, async (store) => {
    const seqs = Object.fromEntries((await listAll(store)).map(({ id, seq, ord }) => [id, [seq, ord]]));
    // d's seq 4 is one that was given out; who watches may know it.
    expect(seqs).toEqual({ a: [5, 5], b: [6, 6], c: [3, 3], d: [7, 4] });
    expect((await exportText(store)).split("\n")).toHaveLength(5);
  });
});

test("an owner of nothing but stale lines starts above what no owner may start below", async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["gone"]);
  await withStore(root, (store) => store.softDelete(agent, ""));
  const other: OwnerRef = { kind: "user", id: "u" };
  mkdirSync(join(root, "user", "u"), { recursive: true });
  writeFileSync(logOf(root, "episodic", other), '{"id":"a","text":"one","seq":1}\n{"id":"b","text":"two","crc":1}\n');
  await check(root, { adopt: true });
  await withStore(root, async (store) => {
    expect((await listAll(store, {}, other)).map(({ id, seq, ord }) => [id, seq, ord])).toEqual([
      ["b", 4, 4],
      ["a", 3, 1],
    ]);
    expect((await store.describe(other, { minSeq: 0 })).floor).toBe(2);
  });
});

test("no line is adopted whose id another entry has, nor one whose meta would be lost", async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["a", "b", "c"]);
  alter(logOf(root), (text) =>
    text
      .replace('"id":"b"', '"id":"a"')
      .replace("text of c", "text of C")
      .replace(/\n$/, '\n{"id":"c","text":"the same id","seq":9}\n{"id":"m","text":"odd","meta":[1],"seq":9}\n'),
  );
  const { findings } = await check(root, { fix: true, adopt: true });
  expect(findings.map(({ problem, line, action, done }) => [problem, line, action, done])).toEqual([
    ["stale-line", 2, "none", false],
    ["stale-line", 3, "none", false],
    ["stale-line", 4, "adopt", true],
    ["stale-line", 5, "none", false],
  ]);
  expect(await served(root)).toEqual(["a", "c"]);
  expect(await corruptLines(root)).toBe(3);
  expect((await check(root, { fix: true, adopt: true })).summary).toMatchObject({ fixed: 0, remaining: 3 });
});

test("what Forget or PatchMeta left unfinished is erased, and goes nowhere else", async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["a", "b"]);
  alter(logOf(root), (text) => {
    const len = text.indexOf("\n");
    return text + encodeForget("a", "0123456789abcdef", { at: 0, len }, 3, Date.now()).toString();
  });
  expect(codes(await check(root, { fix: true }))).toEqual(["unfinished-erase"]);
  expect(readFileSync(logOf(root), "utf8")).not.toContain("text of a");
  expect(readdirSync(join(root, "agent", "x"))).toEqual(["episodic.jsonl"]);
  expect((await check(root)).findings).toEqual([]);
});

test("logs in the trash are checked and mended, and .seq stays above them", async () => {
  const root = await damaged();
  await withStore(root, (store) => store.softDelete(agent, ""));
  // Opening it cut the tail; .seq is as an older backup's.
  writeFileSync(join(root, ".seq"), '{"seq":2}\n');
  const dry = await check(root);
  expect(dry.findings.map(({ path, problem }) => [path.split("/").slice(-2).join("/"), problem])).toEqual([
    [".seq", "seq-too-low"],
    ["payload/episodic.jsonl", "bad-line"],
    ["payload/episodic.jsonl", "stale-line"],
  ]);
  expect((await check(root, { fix: true, adopt: true })).summary).toMatchObject({ fixed: 3, remaining: 0 });
  expect(JSON.parse(readFileSync(join(root, ".seq"), "utf8"))).toEqual({ seq: 5 });
  expect((await check(root, { fix: true, adopt: true })).findings).toEqual([]);
  await withStore(root, async (store) => {
    expect(await store.append(agent, [entry("z", "another life")])).toMatchObject({ seq: 6 });
    await store.forget(agent, "z");
    const [ref] = await store.listTrash(agent);
    expect(await store.restore(agent, ref.refId)).toMatchObject({ entries: 2 });
  });
});

test("an unreadable .seq is kept aside and written anew, above every owner's seq", async () => {
  const root = await damaged();
  await withStore(root, (store) => store.append({ kind: "user", id: "u" }, [entry("a", "one")]));
  writeFileSync(join(root, ".seq"), "\0\0\0\0");
  await expect(served(root)).rejects.toThrow(".seq");
  const { findings } = await check(root, { fix: true });
  expect(findings[0]).toMatchObject({ path: ".seq", problem: "seq-unreadable", action: "repair", done: true });
  expect(kept(join(root, ".seq"), "quarantine")[0].bytes.toString()).toBe("\0\0\0\0");
  expect(JSON.parse(readFileSync(join(root, ".seq"), "utf8"))).toEqual({ seq: 4 });
  expect(await served(root)).toEqual(["c"]);
});

test("a .seq that can't be mended on a full disk is told, left as it is, and the rest is checked", async () => {
  const root = await damaged();
  writeFileSync(join(root, ".seq"), "nonsense");
  const full = (): Promise<never> => Promise.reject(Object.assign(new Error("injected"), { code: "ENOSPC" }));
  const { findings, summary } = await check(root, { fix: true, fs: { ...realFs, write: full } });
  expect(findings.slice(0, 2)).toMatchObject([
    { path: ".seq", problem: "not-mended", done: false },
    { path: ".seq", problem: "seq-unreadable", done: false },
  ]);
  expect(findings[0].message).toContain("ENOSPC");
  expect(summary.owners).toBe(1);
  expect(readFileSync(join(root, ".seq"), "utf8")).toBe("nonsense");
});

test("without fix nothing is adopted while .seq can't be read", async () => {
  const root = await damaged();
  writeFileSync(join(root, ".seq"), "?");
  const { findings } = await check(root, { adopt: true });
  expect(findings.map(({ done }) => done)).not.toContain(true);
  expect(readFileSync(join(root, ".seq"), "utf8")).toBe("?");
  expect(existsSync(`${logOf(root)}.quarantine`)).toBe(false);
});

test("quarantine files fill one after the other, and a huge line goes in and comes back in pieces", {
  timeout: 120_000,
}, async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["a"]);
  const log = logOf(root);
  const huge = 66 * 1024 * 1024;
  const size = statSync(log).size;
  truncateSync(log, size + huge);
  alter(log, (text) => `${text}\n`);
  const before = readFileSync(log);
  await check(root, { fix: true });
  const files = readdirSync(join(root, "agent", "x")).filter((name) => name.includes("quarantine"));
  expect(files).toHaveLength(8);
  for (const name of files) expect(statSync(join(root, "agent", "x", name)).size).toBeLessThan(16 * 1024 * 1024);
  const after = readFileSync(log);
  expect(after.subarray(size).equals(Buffer.alloc(after.length - size, 0x0a))).toBe(true);
  // What docs/check.md says of bringing bytes back.
  for (const { at, bytes } of kept(log, "quarantine")) bytes.copy(after, at);
  expect(after.equals(before)).toBe(true);
  expect(await served(root)).toEqual(["a"]);
});

test("a check lets go of no torn tail, however full the files are", async () => {
  const root = await damaged();
  const log = logOf(root);
  const record = (name: string): string => `{"at":0,"cutAtMs":1,"base64":"${Buffer.from(name).toString("base64")}"}\n`;
  writeFileSync(`${log}.torn.1`, record("oldest"));
  writeFileSync(`${log}.torn`, record("old".repeat(6 * 1024 * 1024)));
  await check(root, { fix: true });
  const tails = kept(log, "torn").map(({ bytes }) => bytes.toString().slice(0, 9));
  expect(tails.sort()).toEqual(["oldest", "oldoldold", '{"id":"ha'].sort());
});

test("half a record that a crash left in a quarantine file spoils no other", async () => {
  const root = await damaged();
  writeFileSync(`${logOf(root)}.quarantine`, '{"at":7,"li');
  await check(root, { fix: true });
  const lines = readFileSync(`${logOf(root)}.quarantine`, "utf8").split("\n");
  expect(lines[0]).toBe('{"at":7,"li');
  expect(JSON.parse(lines[1])).toMatchObject({ at: 0, problem: "bad-line" });
});

test("Clear leaves nothing of a log's quarantine and torn files, and leaves those of other logs", async () => {
  const root = await damaged();
  await withStore(root, (store) => store.append(agent, [entry("s", "one", { kind: "semantic" })]));
  alter(logOf(root, "semantic"), (text) => `private\n${text}`);
  await check(root, { fix: true, adopt: true });
  writeFileSync(`${logOf(root)}.quarantine.1`, "{}\n");
  writeFileSync(`${logOf(root)}.torn.3`, "{}\n");
  writeFileSync(`${logOf(root)}.notes`, "of the hub's own");
  writeFileSync(`${logOf(root)}.notes.torn`, "of the hub's own");
  await withStore(root, (store) => store.clear(agent, ["episodic"]));
  expect(readdirSync(join(root, "agent", "x")).sort()).toEqual([
    "episodic.jsonl",
    "episodic.jsonl.notes",
    "episodic.jsonl.notes.torn",
    "semantic.jsonl",
    "semantic.jsonl.quarantine",
  ]);
});
