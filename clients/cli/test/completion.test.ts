import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { bashCompletion } from "../src/completion/bash.js";
import { fishCompletion } from "../src/completion/fish.js";
import { allCommands, describeCommands } from "../src/completion/spec.js";
import { zshCompletion } from "../src/completion/zsh.js";
import { Interrupt } from "../src/interrupt.js";
import { createProgram } from "../src/program.js";
import { Runtime } from "../src/runtime.js";

const spec = describeCommands(createProgram(new Runtime(new Interrupt())));
const dir = mkdtempSync(join(tmpdir(), "reverie-completion-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
for (const [name, text] of [
  ["bash", bashCompletion(spec)],
  ["zsh", zshCompletion(spec)],
  ["fish", fishCompletion(spec)],
]) {
  writeFileSync(join(dir, name!), text!);
}
/** With every tool asked for, a missing shell fails the test. */
const has = (shell: string) =>
  process.env.REVERIE_TEST_ALL !== undefined || spawnSync(shell, ["-c", "true"]).status === 0;

/** What bash offers for the last word, the words as bash splits them. */
function bash(...words: string[]): string[] {
  const line = words.map((word) => `'${word}'`).join(" ");
  const script = `source ${join(dir, "bash")}; COMP_WORDS=(reverie ${line}); COMP_CWORD=${words.length}; _reverie; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync("bash", ["--norc", "-c", script], { encoding: "utf8", cwd: dir });
  return out.split("\n").filter((word) => word !== "");
}

describe("completion in bash", () => {
  it("offers commands, and those below a command", () => {
    expect(bash("")).toEqual(expect.arrayContaining(["remember", "recall", "trash", "completion", "help"]));
    expect(bash("re")).toEqual(["remember", "recall"]);
    expect(bash("trash", "")).toEqual(["list", "delete", "restore", "purge"]);
    expect(bash("--json", "--address", "h:1", "trash", "p")).toEqual(["purge"]);
    expect(bash("help", "des")).toEqual(["describe"]);
  });

  it("offers options, the command's own and every command's", () => {
    expect(bash("recall", "--")).toEqual(
      expect.arrayContaining(["--kind", "--since", "--address", "--json", "--help"]),
    );
    expect(bash("trash", "delete", "--r")).toEqual(["--reason"]);
    expect(bash("recall", "agent/ada", "--", "--k")).toEqual([]);
  });

  it("offers choices, owners and files", () => {
    expect(bash("recall", "--kind", "")).toEqual(["episodic", "semantic", "working"]);
    expect(bash("recall", "--kind", "=", "w")).toEqual(["working"]);
    expect(bash("recall", "--kind", "=")).toEqual(["episodic", "semantic", "working"]);
    expect(bash("recall", "ag")).toEqual(["agent/"]);
    expect(bash("trash", "restore", "--timeout", "5s", "wor")).toEqual(["workflow-run/"]);
    expect(bash("export", "agent/a", "--format", "m")).toEqual(["markdown"]);
    expect(bash("completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(bash("owners", "p")).toEqual(["peer"]);
    expect(bash("import", "agent/ada", "z")).toEqual(["zsh"]);
    expect(bash("export", "agent/ada", "-o", "fi")).toEqual(["fish"]);
    expect(bash("recall", "agent/ada", "x")).toEqual([]);
  });

  it("knows every command and option that there is", () => {
    const program = createProgram(new Runtime(new Interrupt()));
    const names = program.commands.map((command) => command.name());
    expect(bash("")).toEqual([...names, "help"]);
    for (const { path, options } of allCommands(spec)) {
      expect(bash(...path, "-"), path.join(" ")).toEqual(options.flatMap(({ flags }) => flags));
    }
  });
});

describe("completion elsewhere", () => {
  it.runIf(has("fish"))("offers the same in fish", () => {
    const fish = (line: string) =>
      execFileSync("fish", ["--no-config", "-c", `source ${join(dir, "fish")}; complete -C '${line}'`], {
        encoding: "utf8",
        cwd: dir,
      })
        .split("\n")
        .filter((word) => word !== "")
        .map((word) => word.split("\t")[0]);
    expect(fish("reverie re").sort()).toEqual(["recall", "remember"]);
    expect(fish("reverie trash ").sort()).toEqual(["delete", "list", "purge", "restore"]);
    expect(fish("reverie recall --kind ")).toEqual(["episodic", "semantic", "working"]);
    expect(fish("reverie recall ag")).toEqual(["agent/"]);
    expect(fish("reverie trash list --o")).toEqual([]);
    expect(fish("reverie list --o")).toEqual(["--order"]);
  });

  it.runIf(has("zsh"))("offers the same in zsh", { timeout: 60_000 }, () => {
    /** What an interactive zsh shows after the line and two tabs, up to where the pattern matches; fails when it never does. */
    const zsh = (line: string, pattern: string) => {
      const script = `zmodload zsh/zpty; zpty z 'zsh -f -i'
        zpty -w z "PS1=; autoload -Uz compinit; compinit -u -D; source ${join(dir, "zsh")}; print DO''NE"
        zpty -r z out '*DONE*'; zpty -w -n z '${line}'$'\\t\\t'; zpty -r z out '${pattern}'; print -r -- $out; zpty -d z`;
      const env = { ...process.env, TERM: "dumb" };
      return execFileSync("zsh", ["-f", "-c", script], { encoding: "utf8", cwd: dir, env, timeout: 20_000 });
    };
    expect(zsh("reverie rem", "*remember*")).toContain("remember");
    expect(zsh("reverie recall --kind ", "*episodic*working*")).toMatch(/episodic +semantic +working/);
    expect(zsh("reverie trash ", "*Bring an owner*")).toContain("purge    -- Delete");
  });
});
