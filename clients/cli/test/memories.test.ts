import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { jsonLines, run } from "./support/cli.js";
import { type Service, startService } from "./support/service.js";

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.end());

const reverie = (...args: string[]) => run(args, { env: service.env });
const piped = (input: string | Uint8Array, ...args: string[]) => run(args, { env: service.env, input });

describe("remember", { timeout: 120_000 }, () => {
  it("stores the words of the command line, with meta to the last digit, and repeats safely", async () => {
    const args = ["remember", "agent/ada", "Ada", "likes tea", "--id", "-one", "--kind", "episodic"];
    const meta = [
      "--meta",
      '{"n":9007199254740993}',
      "--set",
      "source=chat",
      "--set",
      "ok=true",
      "--at",
      "2026-01-31T10:00Z",
    ];
    const first = await reverie(...args, ...meta);
    expect(first.code).toBe(0);
    expect(first.stdout).toContain('"meta":{"n":9007199254740993,"source":"chat","ok":true}');
    const stored = { id: "-one", kind: "episodic", text: "Ada likes tea", ts: Date.UTC(2026, 0, 31, 10) };
    expect(jsonLines(first.stdout)).toMatchObject([{ ...stored, alreadyStored: false }]);
    const again = await reverie(...args, ...meta);
    expect(jsonLines(again.stdout)).toMatchObject([{ ...stored, alreadyStored: true }]);
    const other = await reverie("remember", "agent/ada", "else", "--id=-one", "--json");
    expect(other.code).toBe(6);
    expect(jsonLines(other.stderr)).toMatchObject([
      { error: { reason: "ENTRY_EXISTS", exitCode: 6, hint: expect.anything() } },
    ]);
  });

  it("reads stdin, without the line break at its end unless asked, and refuses what is no text", async () => {
    const [plain, raw, binary, huge, empty] = await Promise.all([
      piped("two\nlines\n", "remember", "agent/stdin", "-"),
      piped("raw\n", "remember", "agent/stdin", "--raw"),
      piped(new Uint8Array([0xff, 0xfe, 0x00]), "remember", "agent/stdin", "-"),
      piped("x".repeat(1024 * 1024 + 3), "remember", "agent/stdin", "-"),
      piped("", "remember", "agent/stdin"),
    ]);
    expect(jsonLines(plain.stdout)).toMatchObject([{ text: "two\nlines", kind: "semantic" }]);
    expect(jsonLines(raw.stdout)).toMatchObject([{ text: "raw\n" }]);
    expect(binary).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("not UTF-8") });
    expect(huge).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("1048576 bytes") });
    expect(empty).toMatchObject({ code: 2, stdout: "" });
  });

  it("refuses owners, metas and kinds that can't be, and says what to do", async () => {
    const wrong: [string[], RegExp][] = [
      [["remember", "ada", "x"], /agent\/<id>.*\nhint: /],
      [["remember", "agent/a/b", "x"], /directory.*\nhint: .*no slash/],
      [["remember", "agent/ada", "x", "--meta", "[1]"], /one JSON object.*\nhint: .*--set/],
      [["remember", "agent/ada", "x", "--set", "nothing"], /--set key=value/],
      [["remember", "agent/ada", "x", "--kind", "fact"], /episodic, semantic, working/],
      [["get", "agent/ada", "-one"], /unknown option '-one'\nhint: Put -- before/],
    ];
    const ran = await Promise.all(wrong.map(([args]) => reverie(...args)));
    for (const [at, { code, stderr }] of ran.entries()) {
      expect(stderr).toMatch(wrong[at]![1]);
      expect(stderr).toMatch(/^error: .+\nhint: .+\n$/);
      expect(code).toBe(2);
    }
  });
});

describe("reading", { timeout: 120_000 }, () => {
  it("recalls by text, newest first, and the newest without one; the summary is on stderr", async () => {
    const client = service.client;
    for (const n of [1, 2, 3])
      await client.remember("agent/東京 a", { kind: "semantic", text: `Tea ${n}`, id: `t${n}`, ts: n });
    await client.remember("agent/東京 a", { kind: "working", text: "coffee", id: "c", ts: 9 });
    const [found, newest, none] = await Promise.all([
      reverie("recall", "agent/東京 a", "TEA", "-n", "2", "--json"),
      reverie("recall", "agent/東京 a", "--kind", "semantic,working"),
      reverie("recall", "agent/東京 a", "nothing like it"),
    ]);
    expect(jsonLines(found.stdout).map(({ id }) => id)).toEqual(["t3", "t2"]);
    expect(jsonLines(found.stderr)).toMatchObject([
      { summary: { returned: 2, truncated: true, corruptLinesSkipped: 0 } },
    ]);
    expect(jsonLines(newest.stdout).map(({ id }) => id)).toEqual(["c", "t3", "t2", "t1"]);
    expect(newest.stderr).toContain("4 found, 4 memories looked at");
    expect(none).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("Nothing found") });
  });

  it("lists everything over many pages, whole, and as much as asked", async () => {
    const items = Array.from({ length: 1_203 }, (_, n) => ({
      kind: "episodic" as const,
      text: `n${n} ${"x".repeat(100)}`,
      id: `n${n}`,
      ts: n + 1,
    }));
    await service.client.rememberMany("agent/many", items);
    const [all, some] = await Promise.all([
      reverie("list", "agent/many", "--order", "oldest"),
      reverie("list", "agent/many", "--limit", "601"),
    ]);
    expect(jsonLines(all.stdout)).toMatchObject(items);
    expect(jsonLines(some.stdout).map(({ id }) => id)).toEqual(
      items
        .map(({ id }) => id)
        .reverse()
        .slice(0, 601),
    );
  });
});

describe("changing", { timeout: 120_000 }, () => {
  it("patches, gets and forgets; an unknown id is status 3", async () => {
    await service.client.remember("user/eve", { kind: "semantic", text: "t", id: "-x", meta: { a: 1, b: 2 } });
    const patched = await reverie("patch", "user/eve", "--set", "c=text", "--remove", "a", "--", "-x");
    expect(jsonLines(patched.stdout)).toMatchObject([{ id: "-x", meta: { b: 2, c: "text" } }]);
    const got = await reverie("get", "user/eve", "--", "-x");
    expect(jsonLines(got.stdout)).toEqual([
      { id: "-x", kind: "semantic", text: "t", ts: expect.any(Number), meta: { b: 2, c: "text" }, seq: 2 },
    ]);
    const forgot = await reverie("forget", "user/eve", "--", "-x", "nope");
    expect(jsonLines(forgot.stdout)).toEqual([
      { id: "-x", found: true, copies: 1, seq: 3 },
      { id: "nope", found: false, copies: 0, seq: 3 },
    ]);
    expect(forgot).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^error: user\/eve has no memory nope\nhint: /),
    });
    const gone = await Promise.all([
      reverie("get", "user/eve", "--", "-x"),
      reverie("patch", "user/eve", "nope", "--set", "a=1"),
    ]);
    expect(gone.map(({ code }) => code)).toEqual([3, 3]);
    expect(gone.map(({ stderr }) => stderr)).toEqual(
      ["-x", "nope"].map((id) => expect.stringMatching(`^error: user/eve has no memory ${id}\nhint: .*list user/eve`)),
    );
    const late = await reverie("remember", "user/eve", "t", "--id=-x", "--meta", '{"a":1,"b":2}');
    expect(late).toMatchObject({ code: 6, stderr: expect.stringContaining("another --id") });
  });

  it("clears a kind, and a whole owner only with --all", async () => {
    await service.client.remember("shared/c", { kind: "working", text: "w" });
    await service.client.remember("shared/c", { kind: "semantic", text: "s" });
    expect(await reverie("clear", "shared/c")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--all"),
    });
    const kind = await reverie("clear", "shared/c", "--kind", "working");
    expect(jsonLines(kind.stdout)).toEqual([{ removed: 1, seq: expect.any(Number) }]);
    const all = await reverie("clear", "shared/c", "--all");
    expect(jsonLines(all.stdout)).toMatchObject([{ removed: 1 }]);
  });

  it("describes an owner, lists owners, and takes one through the trash and back", async () => {
    await service.client.remember("peer/hub", { kind: "semantic", text: "t" });
    const [described, owners] = await Promise.all([reverie("describe", "peer/hub"), reverie("owners", "peer")]);
    expect(jsonLines(described.stdout)).toMatchObject([
      {
        owner: "peer/hub",
        exists: true,
        seq: 1,
        items: [{ kind: "semantic", entries: 1 }],
        durability: "fsync",
        writable: true,
      },
    ]);
    expect(jsonLines(owners.stdout)).toEqual([
      { owner: "peer/hub", kind: "peer", id: "hub", attached: false, diskBytes: expect.any(Number) },
    ]);
    const [deleted] = jsonLines((await reverie("trash", "delete", "peer/hub", "--reason", "left")).stdout);
    expect(deleted).toMatchObject({
      owner: "peer/hub",
      reason: "left",
      hasPayload: true,
      moved: true,
      ref: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    const listed = await reverie("trash", "list", "peer/hub");
    expect(jsonLines(listed.stdout)).toMatchObject([{ ref: deleted!.ref, owner: "peer/hub" }]);
    const restored = await reverie("trash", "restore", "peer/hub");
    expect(jsonLines(restored.stdout)).toMatchObject([{ owner: "peer/hub", ref: deleted!.ref, entries: 1 }]);
    const conflict = await reverie("trash", "delete", "peer/hub");
    const ref = String(jsonLines(conflict.stdout)[0]!.ref);
    await service.client.remember("peer/hub", { kind: "semantic", text: "new life" });
    expect(await reverie("trash", "restore", "peer/hub", ref)).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("trash delete"),
    });
    expect(await reverie("trash", "purge", "peer/hub", ref)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--yes"),
    });
    expect(jsonLines((await reverie("trash", "purge", "peer/hub", ref, "--yes")).stdout)).toMatchObject([
      { ref, freedBytes: expect.any(Number) },
    ]);
    expect(await reverie("trash", "purge", "peer/hub", ref, "--yes")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("trash list"),
    });
  });
});
