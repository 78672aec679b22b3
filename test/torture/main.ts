// `npm run torture`: hurts the memory store in every way that a disk, a kernel or a
// user may, on the disk of your choice, and counts what that broke. See docs/durability.md.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { styleText } from "node:util";
import Table from "cli-table3";
import { Command, InvalidArgumentError } from "commander";
import { Listr } from "listr2";
import { describeMachine } from "./machine.js";
import { sizeOf } from "./part.js";
import { parts } from "./parts.js";
import { type PartReport, type Result, runPart } from "./scorecard.js";

const MAX_FINDINGS = 20;

function whole(value: string): number {
  if (!/^[1-9]\d*$/.test(value)) throw new InvalidArgumentError("Give a whole number above 0.");
  return Number(value);
}

function names(value: string): string[] {
  const known = parts.map(({ name }) => name);
  const given = value.split(",").map((name) => name.trim());
  const unknown = given.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new InvalidArgumentError(`No part is called ${unknown}. There are: ${known.join(", ")}.`);
  return given;
}

interface Options {
  readonly dir: string;
  readonly cycles: number;
  readonly seed: number;
  readonly json?: string;
  readonly only?: string[];
  readonly skip?: string[];
}

const program = new Command("npm run torture --")
  .description("Hurts the memory store on a disk of yours, and counts what that broke.")
  .option("--dir <path>", "a directory on the disk to test; what it makes there it removes", tmpdir())
  .option("--cycles <n>", "kills; everything else shrinks or grows with it", whole, 200)
  .option("--seed <n>", "make the choices of an earlier run", whole, (Date.now() % 1_000_000) + 1)
  .option("--json <file>", "write the scorecard there too")
  .option("--only <parts>", "comma-separated", names)
  .option("--skip <parts>", "comma-separated", names)
  .addHelpText(
    "after",
    `
Parts:
${parts.map(({ name, title }) => `  ${name.padEnd(14)} ${title}`).join("\n")}

Exit codes: 0 all targets met, 1 something else, 2 wrong options.
Example, for an hour on the disk that will hold your data:
  npm run torture -- --dir /var/lib/reverie --cycles 1000 --json scorecard.json`,
  )
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));
program.parse();
const { dir: given, cycles, seed, json, only, skip = [] } = program.opts<Options>();
const dir = resolve(given);
if (!existsSync(dir)) mkdirSync(dir, { recursive: true });

const machine = describeMachine(dir);
console.log(
  `${machine.cores} × ${machine.cpu}, ${machine.os}, Node ${machine.node}\n` +
    `${dir} on ${machine.fileSystem}, fdatasync ${machine.fdatasyncMs} ms; ${cycles} cycles, seed ${seed}\n`,
);

const chosen = parts.filter(({ name }) => (only ?? [name]).includes(name) && !skip.includes(name));
const reports = new Map<string, PartReport>();
await new Listr(
  chosen.map((part) => ({
    title: part.title,
    task: async (_, task) => {
      const report = await runPart(part, {
        dir,
        size: sizeOf(cycles),
        seed,
        progress: (text) => {
          if (process.stdout.isTTY) task.output = text;
        },
      });
      reports.set(part.name, report);
      const facts = Object.entries(report.facts).map(([name, value]) => `${value} ${name}`);
      task.title = `${part.title} (${[...facts, `${report.seconds.toFixed(0)} s`].join(", ")})`;
      const missed = report.results.filter(({ ok }) => !ok);
      if (missed.length > 0) throw new Error(missed.map(explain).join("; "));
    },
  })),
  { exitOnError: false, concurrent: false, fallbackRenderer: "simple" },
).run();

const results = [...reports.values()].flatMap((report) => report.results);
printTable(results);
for (const [name, { findings }] of reports) {
  for (const finding of findings.slice(0, MAX_FINDINGS)) console.log(`${name}: ${finding}`);
  if (findings.length > MAX_FINDINGS) console.log(`${name}: ${findings.length - MAX_FINDINGS} more, in --json`);
}
if (json !== undefined) {
  const details = Object.fromEntries(
    [...reports].map(([name, { facts, findings, seconds }]) => [name, { facts, findings, seconds }]),
  );
  writeFileSync(json, `${JSON.stringify({ machine, cycles, seed, results, details }, undefined, 2)}\n`);
}
const missed = results.filter(({ ok }) => !ok);
console.log(`${results.length - missed.length} of ${results.length} targets met`);
process.exitCode = missed.length > 0 || results.length === 0 ? 1 : 0;

function explain({ id, value, target, note }: Result): string {
  return value === null ? `${id} not measured: ${note ?? "no value"}` : `${id} is ${value}, not ${target}`;
}

function printTable(rows: readonly Result[]): void {
  const table = new Table({ head: ["", "measure", "value", "target", "unit"], style: { head: [], border: [] } });
  for (const { id, value, target, unit, ok } of rows) {
    const mark = ok ? styleText("green", "ok") : styleText("red", "NOT OK");
    table.push([mark, id, value ?? "not measured", target, unit]);
  }
  console.log(table.toString());
}
