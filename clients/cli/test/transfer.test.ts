import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { jsonLines, run } from "./support/cli.js";
import { startCuttingProxy } from "./support/cutting-proxy.js";
import { type Service, startService } from "./support/service.js";

let service: Service;
const many = Array.from({ length: 20_000 }, (_, n) => ({
  kind: n % 2 ? ("episodic" as const) : ("semantic" as const),
  text: `memory ${n} ${"x".repeat(200)}`,
  id: `m${n}`,
  ts: n + 1,
}));
beforeAll(async () => {
  service = await startService();
  await service.client.rememberMany("agent/many", many);
});
afterAll(() => service.end());

const reverie = (...args: string[]) => run(args, { env: service.env });
const count = async (owner: string) => {
  let entries = 0;
  for await (const _ of service.client.entries(owner)) entries++;
  return entries;
};

describe("export", { timeout: 120_000 }, () => {
  it("writes JSONL to stdout and to a file, which import takes for another owner", async () => {
    const file = join(service.dir, "many.jsonl");
    const [toFile, toStdout] = await Promise.all([
      reverie("export", "agent/many", "-o", file),
      reverie("export", "agent/many", "--kind", "semantic"),
    ]);
    expect(jsonLines(toFile.stdout)).toMatchObject([
      { file, entries: 20_000, bytes: statSync(file).size, corruptLinesSkipped: 0 },
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(jsonLines(toStdout.stdout)).toHaveLength(10_000);
    const imported = await reverie("import", "agent/copy", file);
    expect(imported.code).toBe(0);
    expect(jsonLines(imported.stdout)).toMatchObject([{ stored: 20_000, alreadyStored: 0, refused: 0 }]);
    const again = await reverie("import", "agent/copy", file);
    expect(jsonLines(again.stdout)).toMatchObject([{ stored: 0, alreadyStored: 20_000, refused: 0 }]);
    expect(await count("agent/copy")).toBe(20_000);
  });

  it("leaves no file, and an older one as it was, when the stream breaks off", async () => {
    const file = join(service.dir, "broken.jsonl");
    writeFileSync(file, "older\n", { mode: 0o640 });
    const proxy = await startCuttingProxy(service.address, { direction: "response", bytes: 1_000_000 });
    try {
      const broken = await reverie("export", "agent/many", "-o", file, "--address", proxy.address, "--json");
      expect(broken).toMatchObject({ code: 4, stdout: "" });
      expect(jsonLines(broken.stderr)).toMatchObject([{ error: { code: "UNAVAILABLE", exitCode: 4 } }]);
      expect(proxy.cuts()).toBe(1);
      expect(readFileSync(file, "utf8")).toBe("older\n");
      expect(readdirSync(service.dir).filter((name) => name.includes("partial"))).toEqual([]);
      // The control: the same without a cut replaces the file, and keeps its mode.
      expect((await reverie("export", "agent/many", "-o", file, "--address", proxy.address)).code).toBe(0);
      expect(readFileSync(file, "utf8").split("\n")).toHaveLength(20_001);
      expect(statSync(file).mode & 0o777).toBe(0o640);
    } finally {
      proxy.close();
    }
  });

  it("writes Markdown, and refuses a directory as a file", async () => {
    await service.client.remember("agent/page", {
      kind: "working",
      text: "# no heading\n```",
      id: "p",
      ts: 0,
      meta: { a: 1 },
    });
    const file = join(service.dir, "page.md");
    const [page, toFile, directory, missing] = await Promise.all([
      reverie("export", "agent/page", "--format", "markdown"),
      reverie("export", "agent/many", "--format", "markdown", "-o", file),
      reverie("export", "agent/page", "-o", service.dir),
      reverie("export", "agent/page", "-o", join(service.dir, "no/such/file")),
    ]);
    expect(page.stdout).toMatch(/^# Memories of `agent\/page`\n[^#]*\n## Working\n\n### \d{4}/);
    expect(page.stdout).toContain('````text\n# no heading\n```\n````\n\nMeta: `{"a":1}`\n');
    expect(page.stderr).toBe(`Exported 1 memory, ${Buffer.byteLength(page.stdout)} B of Markdown.\n`);
    expect(jsonLines(toFile.stdout)).toMatchObject([{ file, entries: 20_000, bytes: statSync(file).size }]);
    expect(readFileSync(file, "utf8").match(/^#### /gm)).toHaveLength(20_000);
    expect(directory).toMatchObject({ code: 2, stderr: expect.stringContaining("is a directory") });
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("ENOENT") });
  });
});

describe("import", { timeout: 120_000 }, () => {
  it("asks for other ids, not for mended lines, where all that is refused was forgotten", async () => {
    const file = join(service.dir, "forgotten.jsonl");
    writeFileSync(file, '{"id":"gone","kind":"semantic","text":"gone","ts":1}\n');
    expect((await reverie("import", "agent/forgotten", file)).code).toBe(0);
    await service.client.handle("agent/forgotten").forget("gone");
    const ran = await reverie("import", "agent/forgotten", file);
    expect(ran).toMatchObject({ code: 7, stderr: expect.stringMatching(/ENTRY_FORGOTTEN.*\n.*\nhint: .*other ids/) });
  });

  it("names the first 20 that are refused, counts the others, and has all of them as JSON", async () => {
    const ran = await run(["import", "agent/odd", "-"], { env: service.env, input: "no JSON\n".repeat(30) });
    expect(ran.code).toBe(7);
    expect(ran.stderr.match(/^line \d+: /gm)).toHaveLength(20);
    expect(ran.stderr).toMatch(/^…and 10 more; .*\nerror: 30 lines were refused\n/m);
    expect(jsonLines(ran.stdout)[0]!.refusedItems).toHaveLength(30);
  });

  it("names what is refused, stores the rest, and ends with status 7", async () => {
    const input = [
      '{"kind":"semantic","text":"good","id":"g"}',
      "",
      "no JSON",
      '{"kind":"fact","text":"x","id":"k"}',
      "",
    ].join("\n");
    const ran = await run(["import", "agent/partly", "-"], { env: service.env, input });
    expect(ran.code).toBe(7);
    expect(jsonLines(ran.stdout)).toMatchObject([
      {
        stored: 1,
        refused: 2,
        skippedLines: 1,
        refusedItems: [
          { line: 3, id: "", reason: "FIELD_INVALID", message: expect.any(String) },
          { line: 4, id: "k", reason: "FIELD_INVALID", message: expect.any(String) },
        ],
      },
    ]);
    expect(ran.stderr).toMatch(/^line 3: FIELD_INVALID: .+\nline 4 \(k\): .+\nerror: 2 lines were refused\nhint: /);
  });

  it("stores lines without an id once, however often it runs, and equal ones as often as they are there", async () => {
    const input =
      '\ufeff{"kind":"semantic","text":"same"}\r\n{"kind":"semantic","text":"same"}\n{"text":"other","kind":"working","meta":{"id":"x"}}';
    const import_ = () => run(["import", "agent/no-ids", "-"], { env: service.env, input });
    expect(jsonLines((await import_()).stdout)).toMatchObject([{ stored: 3, alreadyStored: 0, refused: 0 }]);
    expect(jsonLines((await import_()).stdout)).toMatchObject([{ stored: 0, alreadyStored: 3, refused: 0 }]);
    expect(await count("agent/no-ids")).toBe(3);
  });

  it("sends a file again when the connection breaks, and stores nothing twice", async () => {
    const file = join(service.dir, "resumed.jsonl");
    const lines = many.map(({ id: _, ...rest }) => JSON.stringify(rest));
    writeFileSync(file, `${lines.join("\n")}\n`);
    const proxy = await startCuttingProxy(service.address, { direction: "request", bytes: 2_000_000, times: 2 });
    try {
      const ran = await reverie("import", "agent/resumed", file, "--address", proxy.address);
      expect(ran.code).toBe(0);
      const [result] = jsonLines(ran.stdout) as [{ stored: number; alreadyStored: number }];
      expect(result.stored + result.alreadyStored).toBe(many.length);
      expect(ran.stderr.match(/Sending .* again/g)).toHaveLength(2);
      expect(await count("agent/resumed")).toBe(many.length);
    } finally {
      proxy.close();
    }
  });

  it("can't send stdin again, and says so", async () => {
    const proxy = await startCuttingProxy(service.address, { direction: "request", bytes: 100_000, times: 9 });
    try {
      const input = many.map((entry) => JSON.stringify(entry)).join("\n");
      const ran = await run(["import", "agent/piped", "-", "--address", proxy.address], { env: service.env, input });
      expect(ran).toMatchObject({ code: 4, stdout: "", stderr: expect.stringMatching(/^error: .+\nhint: .*again/) });
    } finally {
      proxy.close();
    }
  });

  it("says which file it can't read", async () => {
    const ran = await Promise.all([
      reverie("import", "agent/x", "/no/such.jsonl"),
      reverie("import", "agent/x", service.dir),
    ]);
    expect(ran).toMatchObject([
      { code: 2, stderr: expect.stringContaining("ENOENT") },
      { code: 2, stderr: expect.stringContaining("EISDIR") },
    ]);
  });
});
