import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run, runOnTerminal, shellLine } from "./support/cli.js";
import { type Service, startService } from "./support/service.js";

let service: Service;
beforeAll(async () => {
  service = await startService();
  const texts = [
    "\x1b]0;owned\x07\x1b[2J\x9b31mred\u202e",
    "東京は日本の首都です。".repeat(30),
    "line\nbreak",
    `long ${"word ".repeat(100)}`,
  ];
  for (const [at, text] of texts.entries()) {
    await service.client.remember("agent/tty", { kind: "semantic", text, id: `t${at}`, meta: { "\x1b[5m": "\x9b5m" } });
  }
});
afterAll(() => service.end());

const onTerminal = (
  args: readonly string[],
  { columns = 80, ...options }: { columns?: number; env?: Record<string, string>; input?: string } = {},
) => runOnTerminal(shellLine(args), columns, { ...options, env: { ...service.env, ...options.env } });

const ESC = "\x1b";
const COLOUR = new RegExp(`${ESC}\\[\\d+m`, "g");
/** What would drive the terminal, colours aside. */
const driving = (output: string) =>
  output
    .replace(COLOUR, "")
    .replace(/[\n\t]/g, "")
    .match(/[\p{Cc}\u202e]/gu) ?? [];

describe("on a terminal", { timeout: 120_000 }, () => {
  it("shows tables that fit, in colour, and no stored text drives it", async () => {
    for (const columns of [80, 50]) {
      const { stdout, code } = await onTerminal(["list", "agent/tty"], { columns });
      expect(code).toBe(0);
      expect(stdout).toContain(`${ESC}[`);
      expect(driving(stdout)).toEqual([]);
      const plain = stripVTControlCharacters(stdout);
      expect(plain).toContain("\\x1b]0;");
      expect(plain).toMatch(/^ID +KIND/);
      for (const line of plain.split("\n")) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  it("shows a memory, JSON and an export without driving it either", async () => {
    const shown = await Promise.all([
      onTerminal(["get", "agent/tty", "t0"]),
      onTerminal(["get", "agent/tty", "t0", "--json"]),
      onTerminal(["export", "agent/tty"]),
      onTerminal(["export", "agent/tty", "--format", "markdown"]),
      onTerminal(["forget", "agent/tty", "\x1b[31m"]),
    ]);
    for (const { stdout } of shown) expect(driving(stdout)).toEqual([]);
    expect(JSON.parse(shown[1]!.stdout)).toMatchObject({ id: "t0", text: "\x1b]0;owned\x07\x1b[2J\x9b31mred\u202e" });
  });

  it("has no colours with NO_COLOR, --no-color or a dumb terminal", async () => {
    const plain = await Promise.all([
      onTerminal(["list", "agent/tty"], { env: { NO_COLOR: "1" } }),
      onTerminal(["list", "agent/tty", "--no-color"]),
      onTerminal(["list", "agent/tty"], { env: { TERM: "dumb" } }),
    ]);
    for (const { stdout } of plain) expect(stdout).not.toContain(ESC);
  });

  it("shows progress on an import and an export, and takes it away", async () => {
    const file = `${service.dir}/tty.jsonl`;
    const { stdout } = await onTerminal(["export", "agent/tty", "-o", file]);
    expect(stdout).toMatch(/Exporting 4 of 4 entries, /);
    expect(stdout).toContain(`%)\r${ESC}[K`);
    expect(stripVTControlCharacters(stdout)).toMatch(/Exported 4 memories, .* of JSONL to /);
    const imported = await onTerminal(["import", "agent/tty2", file]);
    expect(imported.stdout).toContain(`(100 %)\r${ESC}[K`);
    // Not where stderr is no terminal.
    expect((await run(["export", "agent/tty", "-o", file], { env: service.env })).stderr).toBe("");
  });

  it("asks before it purges", async () => {
    const purge = async (answer: string) => {
      await service.client.remember("agent/gone", { kind: "semantic", text: "x" });
      const { ref } = await service.client.trash.softDelete({ owner: { kind: 1, id: "gone" } });
      return onTerminal(["trash", "purge", "agent/gone", ref!.refId], { input: answer });
    };
    const no = await purge("n\n");
    expect(no).toMatchObject({ code: 1, stdout: expect.stringContaining("Nothing was deleted") });
    const yes = await purge("y\n");
    expect(yes).toMatchObject({ code: 0, stdout: expect.stringContaining("freed") });
  });
});
