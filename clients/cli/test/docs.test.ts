import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { ExitCode } from "../src/exit-code.js";
import { Interrupt } from "../src/interrupt.js";
import { createProgram } from "../src/program.js";
import { Runtime } from "../src/runtime.js";
import { checkout } from "./support/cli.js";

const page = readFileSync(join(checkout, "docs/cli.md"), "utf8");
const runtime = new Runtime(new Interrupt());
const program = createProgram(runtime);

const leaves = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
const pathOf = (command: Command): string =>
  command.parent === null ? "" : `${pathOf(command.parent)} ${command.name()}`.trim();

describe("docs/cli.md", () => {
  it("has a row for each command, in the order of the help, that names each of its options", () => {
    const rows = [...page.matchAll(/^\| `((?:trash )?[a-z]+)(?: [^`]+)?` \| (.+) \|$/gm)];
    const commands = leaves(program);
    expect(rows.slice(0, commands.length).map(([, name]) => name)).toEqual(commands.map(pathOf));
    const inTables = ["--full"];
    for (const command of commands) {
      const row = rows.find(([, name]) => name === pathOf(command))![2];
      for (const { long } of command.options)
        if (!inTables.includes(long!)) expect(row, pathOf(command)).toContain(long);
    }
    for (const flag of inTables) expect(page).toContain(`\`${flag}\``);
  });

  it("has a row for each option of every command, with its variable, and for each exit code", () => {
    for (const { long, envVar } of program.options) {
      if (long === "--version") continue;
      const row = page.split("\n").find((line) => line.startsWith("| `--") && line.split("|")[1]!.includes(long!));
      expect(row, long!).toBeDefined();
      if (envVar !== undefined) expect(row).toContain(`\`${envVar}\``);
    }
    const codes = [...page.matchAll(/^\| (\d+)(?:, (\d+))? \|/gm)].flatMap(([, ...found]) =>
      found.filter(Boolean).map(Number),
    );
    expect(codes).toEqual(Object.values(ExitCode));
  });
});

/** As a shell splits it, without redirections and comments. */
function wordsOf(line: string): string[] {
  const script = `set -- ${line.replace(/ [<>] \S+/g, "")}\nprintf '%s\\0' "$@"`;
  return execFileSync("bash", ["-c", script], { encoding: "utf8" }).split("\0").slice(1, -1);
}

describe("the help", () => {
  it("of each command has examples of it that the command line takes", { timeout: 60_000 }, async () => {
    for (const command of leaves(program)) {
      let text = "";
      command.configureOutput({ writeOut: (written) => (text += written) }).outputHelp();
      const examples = [...text.matchAll(/^ {2}reverie .+$/gm)].map(([line]) => line);
      expect(examples.length, pathOf(command)).toBeGreaterThan(0);
      const called: string[] = [];
      for (const example of examples) {
        for (const part of example.split(" | ").map((piece) => piece.trim().replace(/^xargs /, ""))) {
          if (!part.startsWith("reverie ")) continue;
          const fresh = createProgram(runtime);
          for (const leaf of leaves(fresh)) leaf.action(() => void called.push(pathOf(leaf)));
          const words = wordsOf(part);
          // What xargs would add.
          await fresh.parseAsync(words.at(-1) === "--" ? [...words, "id"] : words, { from: "user" });
        }
      }
      expect(called).toContain(pathOf(command));
      expect(called.length).toBeGreaterThanOrEqual(examples.length);
    }
  });
});
