import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkDataDirectory, DataDirectoryError } from "../../src/check.js";
import { problems } from "../../src/store/jsonl/check/problems.js";
import { type Fs, realFs } from "../../src/store/jsonl/fs.js";
import { encodeEntry, encodeForget, encodeHead } from "../../src/store/jsonl/line.js";
import { alter, check, codes, logOf, makeOwner, problemsOf, served, tree, withStore } from "./check-support.js";
import { agent, entry, openStore, temporaryRoot } from "./support.js";

test("a directory that the service left is clean, with its entries counted", async () => {
  const root = temporaryRoot();
  await withStore(root, async (store) => {
    await store.append(agent, [entry("a", "one"), entry("b", "two"), entry("w", "three", { kind: "working" })]);
    await store.patch(agent, "a", () => '{"n":1}');
    await store.forget(agent, "b");
    await store.append({ kind: "user", id: "ü" }, [entry("a", "one")]);
    await store.softDelete({ kind: "user", id: "ü" }, "");
    await store.append({ kind: "user", id: "ü" }, [entry("a", "another life")]);
    await store.clear(agent, ["working"]);
  });
  const { findings, summary } = await check(root);
  expect(findings).toEqual([]);
  expect(summary).toMatchObject({ owners: 3, logs: 4, entries: 3, findings: 0, fixed: 0, remaining: 0 });
  expect(summary.bytes).toBeGreaterThan(500);
});

test("a directory of before Reverie has no problem: odd names, no seqs, ids that repeat, a .seq of nobody", async () => {
  const root = temporaryRoot();
  const directory = join(root, "agent", ".Ünïcode\u0301");
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    join(directory, "episodic.jsonl"),
    [
      '{"id":"a","text":"one","ts":5}',
      '{ "text" : "two", "id" : "a" }',
      '{"id":"b","kind":"semantic","text":"x"}',
    ].join("\n"),
  );
  writeFileSync(join(directory, "notes.txt"), "of the hub's own");
  mkdirSync(join(root, ".trash", "0123456789abcdef", "payload-1"), { recursive: true });
  writeFileSync(
    join(root, ".trash", "0123456789abcdef", "meta.json"),
    JSON.stringify({ ownerKind: "agent", ownerId: "old", deletedAt: "2024-01-01T00:00:00Z" }),
  );
  const checked = await check(root);
  expect(problemsOf(checked)).toEqual([]);
  expect(codes(checked)).toEqual(["no-format", "no-newline", "other-kind", "duplicate-legacy-id"]);
  expect(checked.summary).toMatchObject({ owners: 2, entries: 3, lines: 3, remaining: 0 });
});

/** One of each thing that can be wrong with lines. */
async function damaged(): Promise<string> {
  const root = temporaryRoot();
  await makeOwner(root, ["a", "b", "c", "d"]);
  const log = logOf(root);
  const [a, b, c, d] = readFileSync(log, "utf8").split("\n");
  const first = Buffer.byteLength(`${a}\n`);
  const lines = [
    a,
    `${b.slice(0, 30)}\0\0`,
    c.replace("text of c", "text of C"),
    d,
    "not JSON either",
    encodeForget("a", "0123456789abcdef", { at: 0, len: first - 1 }, 5, 1)
      .toString()
      .trimEnd(),
    encodeForget("x", "0123456789abcdef", { at: first + 1, len: 3 }, 6, 1)
      .toString()
      .trimEnd(),
    d,
    '{"id":"half',
  ];
  writeFileSync(log, lines.join("\n"));
  return root;
}

test("each kind of damage is found at its line, and what would be done is said", async () => {
  const checked = await check(await damaged());
  const found = checked.findings.map(({ problem, line, action, done, id }) => [problem, line, action, done, id]);
  expect(found).toEqual([
    ["bad-line", 2, "quarantine", false, undefined],
    ["stale-line", 3, "adopt", false, "c"],
    ["bad-line", 5, "quarantine", false, undefined],
    ["unfinished-erase", 6, "erase", false, undefined],
    ["foreign-range", 7, "none", false, undefined],
    ["seq-falls", 8, "none", false, "d"],
    ["torn-tail", 9, "cut", false, undefined],
    ["duplicate-id", 8, "none", false, "d"],
  ]);
  expect(checked.findings[0]).toMatchObject({ path: "agent/x/episodic.jsonl", bytes: 32, severity: "problem" });
  expect(checked.summary).toMatchObject({ lines: 9, entries: 2, findings: 8, fixed: 0, remaining: 6 });
});

test("a dry run changes no byte, name, mode or time, and works on a directory that may not be written", async () => {
  const root = await damaged();
  const before = tree(root);
  await check(root);
  expect(tree(root)).toEqual(before);
  // The control: opening the store changes it.
  expect(await served(root)).toEqual(["d", "d"]);
  expect(tree(root)).not.toEqual(before);
});

test("a dry run needs no lock file, and makes none", async () => {
  const root = temporaryRoot();
  mkdirSync(join(root, "agent", "x"), { recursive: true });
  writeFileSync(logOf(root), '{"id":"a","text":"one"}\n');
  const before = tree(root);
  expect(codes(await check(root))).toEqual(["no-format"]);
  expect(tree(root)).toEqual(before);
  await check(root, { fix: true });
  expect(existsSync(join(root, ".lock"))).toBe(true);
});

test("a dry run without a lock file that a service came beside ends as an error", async () => {
  const root = temporaryRoot();
  mkdirSync(join(root, "agent", "x"), { recursive: true });
  writeFileSync(logOf(root), '{"id":"a","text":"one"}\n');
  const run = checkDataDirectory({ dataDir: root });
  expect(await run.next()).toMatchObject({ value: { problem: "no-format" } });
  await openStore({ root });
  await expect(run.next()).rejects.toThrow(DataDirectoryError);
});

test("as many altered lines as a program that spells each anew leaves are all found", {
  timeout: 120_000,
}, async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["a"]);
  const many = 150_000;
  const lines = Array.from({ length: many }, (_, i) => `{"id":"${i}","text":"","seq":2}\n`);
  appendFileSync(logOf(root), lines.join(""));
  const { summary } = await check(root);
  expect(summary).toMatchObject({ lines: many + 1, findings: many });
});

test.each([{}, { fix: true }])("a directory that a service has is refused, and the service named: %o", async (how) => {
  const root = temporaryRoot();
  const store = await openStore({ root });
  await store.append(agent, [entry("a", "one")]);
  await expect(check(root, how)).rejects.toThrow(`in use by process ${process.pid}`);
  await store.close();
  expect((await check(root, how)).summary.remaining).toBe(0);
});

test("while a check runs no service starts; two dry runs may", async () => {
  const root = await damaged();
  const { checkDataDirectory } = await import("../../src/check.js");
  const run = checkDataDirectory({ dataDir: root });
  await run.next();
  await expect(served(root)).rejects.toThrow(DataDirectoryError);
  expect(codes(await check(root))).toHaveLength(8);
  await run.return({} as never);
  await served(root);
});

test("what is no data directory is refused and left alone", async () => {
  const root = temporaryRoot();
  await expect(check(join(root, "nothing"))).rejects.toThrow(DataDirectoryError);
  mkdirSync(join(root, "music"));
  await expect(check(root, { fix: true })).rejects.toThrow("no data directory");
  writeFileSync(join(root, "FORMAT"), "reverie-memory 2\n");
  await expect(check(root, { fix: true })).rejects.toThrow("format 2");
  writeFileSync(join(root, "FORMAT"), "a wiki\n");
  await expect(check(root, { fix: true })).rejects.toThrow("another program");
  expect(existsSync(join(root, ".lock"))).toBe(false);
});

test("the root's own files, and what stands where owners are, is looked at", async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["a"]);
  await makeOwner(root, []);
  writeFileSync(join(root, ".key"), "short\n");
  writeFileSync(join(root, ".seq"), '{"seq":');
  mkdirSync(join(root, "agents"));
  symlinkSync(join(root, "agents"), join(root, "agent", "link"));
  writeFileSync(join(root, "agent", "notes"), "");
  for (const id of ["Ada", "ada", "fifo", "link-log"]) mkdirSync(join(root, "agent", id));
  execFileSync("mkfifo", [logOf(root, "semantic", { kind: "agent", id: "fifo" })]);
  symlinkSync(logOf(root), logOf(root, "episodic", { kind: "agent", id: "link-log" }));
  writeFileSync(join(root, "agent", "x", ".reverie.json"), "{}");
  writeFileSync(join(root, "agent", "x", "working.jsonl.7.tmp"), "{}");
  mkdirSync(join(root, ".trash", "0123456789abcdef", "payload"), { recursive: true });
  mkdirSync(join(root, ".trash", ".leaving-x"));
  const { findings } = await check(root);
  expect(findings.map(({ path, problem }) => `${path}: ${problem}`).sort()).toEqual(
    [
      ".key: key-unreadable",
      ".seq: seq-unreadable",
      ".trash/.leaving-x: trash-leaving",
      ".trash/0123456789abcdef: trash-meta-unreadable",
      "agent/ada: name-twins",
      "agent/fifo/semantic.jsonl: log-unsafe",
      "agent/link-log/episodic.jsonl: log-unsafe",
      "agent/link: owner-unsafe",
      "agent/notes: stray-file",
      "agent/x/.reverie.json: config-unreadable",
      "agent/x/working.jsonl.7.tmp: leftover",
      "agents: unknown-directory",
    ].sort(),
  );
  for (const { message } of findings) expect(message).not.toContain("%s");
});

test("an id that lives in two kinds, a head below an earlier seq", async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["a", "b"]);
  const copy = { id: "b", kind: "semantic", text: "t", ts: 1, meta: "", seq: 9, ord: 9, late: false } as const;
  writeFileSync(logOf(root, "semantic"), encodeEntry(copy));
  appendFileSync(logOf(root), encodeHead(1, 0, 0));
  const { findings } = await check(root);
  expect(findings.map(({ problem, path, line, id }) => [problem, path, line, id])).toEqual([
    ["seq-above-head", "agent/x/episodic.jsonl", 3, undefined],
    ["duplicate-id", "agent/x/semantic.jsonl", 1, "b"],
  ]);
});

test("progress adds up, and an abort ends the check and lets the lock go", async () => {
  const root = await damaged();
  const seen: { owners: number; bytes: number; totalBytes: number }[] = [];
  await check(root, { onProgress: (progress) => seen.push(progress) });
  const last = seen.at(-1);
  expect(last?.owners).toBe(1);
  expect(last?.bytes).toBe(last?.totalBytes);
  const controller = new AbortController();
  controller.abort();
  await expect(check(root, { signal: controller.signal })).rejects.toThrow("abort");
  await served(root);
});

test("what can't be read is told, and the rest is checked", async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["a", "b"]);
  await withStore(root, (store) => store.append({ kind: "user", id: "u" }, [entry("a", "one")]));
  const fails: Fs = {
    ...realFs,
    open: (path, ...more) =>
      path === logOf(root)
        ? Promise.reject(Object.assign(new Error("injected"), { code: "EIO" }))
        : realFs.open(path, ...more),
  };
  const { findings, summary } = await check(root, { fs: fails, fix: true });
  expect(findings).toMatchObject([{ problem: "unreadable", path: "agent/x/episodic.jsonl" }]);
  expect(findings[0].message).toContain("EIO");
  expect(summary).toMatchObject({ owners: 2, entries: 1, remaining: 1 });
});

test("a complete last line without its newline is fine, and a line over 64 MiB is found without being read whole", {
  timeout: 60_000,
}, async () => {
  const root = temporaryRoot();
  await makeOwner(root, ["a", "b"]);
  const log = logOf(root);
  alter(log, (text) => text.slice(0, -1));
  expect((await check(root)).findings).toMatchObject([{ problem: "no-newline", action: "repair", line: 2 }]);
  const huge = logOf(root, "semantic");
  writeFileSync(huge, "");
  truncateSync(huge, 70 * 1024 * 1024);
  const { findings } = await check(root);
  expect(findings[1]).toMatchObject({ problem: "line-too-long", line: 1, at: 0, bytes: 70 * 1024 * 1024 });
});

test("docs/check.md has a row for each finding, with its action", () => {
  const page = readFileSync(new URL("../../../docs/check.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \| ([a-z, ]+) \|/gm)].map(([, code, how]) => [code, how]);
  const said = Object.entries(problems).map(([code, { action, severity }]) => {
    const parts = action === "none" && severity === "information" ? [] : [action as string];
    return [code, [...parts, ...(severity === "information" ? [severity] : [])].join(", ")];
  });
  expect(rows).toEqual(said);
});
