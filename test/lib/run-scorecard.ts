import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { styleText } from "node:util";
import Table from "cli-table3";
import { InvalidArgumentError } from "commander";
import { Listr } from "listr2";
import { describeMachine } from "./machine.js";
import { type Part, type PartContext, type PartReport, type Result, runPart } from "./scorecard.js";

const MAX_FINDINGS = 20;

export interface Scorecard<Context extends PartContext> {
  readonly parts: readonly Part<Context>[];
  /** A directory on the disk to measure; made if it isn't there. */
  readonly dir: string;
  /** How much was asked for, for people. */
  readonly extent: string;
  /** What of it `json` repeats, such as the seed. */
  readonly options: Readonly<Record<string, number | string | boolean>>;
  readonly contextOf: (common: Pick<PartContext, "dir" | "progress">) => Context;
  /** Where to write the results too, as JSON. Default nowhere. */
  readonly json?: string;
}

/** Runs the parts, one at a time, and prints what they found. Sets the exit code: 0 when all targets are met, else 1. */
export async function runScorecard<Context extends PartContext>(card: Scorecard<Context>): Promise<void> {
  const dir = resolve(card.dir);
  if (!existsSync(dir)) mkdirSync(dir, { recursive: true });
  const machine = describeMachine(dir);
  console.log(
    `${machine.cores} × ${machine.cpu}, ${machine.os}, Node ${machine.node}\n` +
      `${dir} on ${machine.fileSystem}, fdatasync ${machine.fdatasyncMs} ms; ${card.extent}\n`,
  );
  const reports = await runParts(card, dir);
  const results = [...reports.values()].flatMap((report) => report.results);
  printTable(results);
  printFindings(reports);
  if (card.json !== undefined) {
    const details = Object.fromEntries(
      [...reports].map(([name, { results: _, ...detail }]): [string, object] => [name, detail]),
    );
    const content = { machine, ...card.options, results, details };
    writeFileSync(card.json, `${JSON.stringify(content, undefined, 2)}\n`);
  }
  const met = results.filter(({ ok }) => ok).length;
  console.log(`${met} of ${results.length} targets met`);
  process.exitCode = met < results.length || results.length === 0 ? 1 : 0;
}

async function runParts<Context extends PartContext>(
  card: Scorecard<Context>,
  dir: string,
): Promise<Map<string, PartReport>> {
  const reports = new Map<string, PartReport>();
  const tasks = card.parts.map((part) => ({
    title: part.title,
    task: async (_: unknown, task: { title: string; output: string }) => {
      const progress = (text: string): void => {
        if (process.stdout.isTTY) task.output = text;
      };
      const report = await runPart(part, card.contextOf({ dir, progress }));
      reports.set(part.name, report);
      const facts = Object.entries(report.facts).map(([name, value]) => `${value} ${name}`);
      task.title = `${part.title} (${[...facts, `${report.seconds.toFixed(0)} s`].join(", ")})`;
      const missed = report.results.filter(({ ok }) => !ok);
      if (missed.length > 0) throw new Error(missed.map(explain).join("; "));
    },
  }));
  await new Listr(tasks, { exitOnError: false, concurrent: false, fallbackRenderer: "simple" }).run();
  return reports;
}

function explain({ id, value, target, note }: Result): string {
  return value === null ? `${id} not measured: ${note ?? "no value"}` : `${id} is ${value}, not ${target}`;
}

function printTable(rows: readonly Result[]): void {
  const withAims = rows.some(({ aim }) => aim !== undefined);
  const head = ["", "measure", "value", "target", ...(withAims ? ["aim"] : []), "unit"];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const { id, value, target, aim = "", unit, ok } of rows) {
    const mark = ok ? styleText("green", "ok") : styleText("red", "NOT OK");
    table.push([mark, id, value ?? "not measured", target, ...(withAims ? [aim] : []), unit]);
  }
  console.log(table.toString());
}

function printFindings(reports: ReadonlyMap<string, PartReport>): void {
  for (const [name, { findings }] of reports) {
    for (const finding of findings.slice(0, MAX_FINDINGS)) console.log(`${name}: ${finding}`);
    if (findings.length > MAX_FINDINGS) console.log(`${name}: ${findings.length - MAX_FINDINGS} more, in --json`);
  }
}

/** For `--cycles` and the like. */
export function wholeNumber(value: string): number {
  if (!/^[1-9]\d*$/.test(value)) throw new InvalidArgumentError("Give a whole number above 0.");
  return Number(value);
}

/** For `--only` and `--skip`: some of the parts' names. */
export function partNames(parts: readonly { readonly name: string }[]): (value: string) => string[] {
  const known = parts.map(({ name }) => name);
  return (value) => {
    const given = value.split(",").map((name) => name.trim());
    const unknown = given.filter((name) => !known.includes(name));
    if (unknown.length > 0)
      throw new InvalidArgumentError(`No part is called ${unknown}. There are: ${known.join(", ")}.`);
    return given;
  };
}

/** One line for each, for `--help`. */
export function listParts(parts: readonly { readonly name: string; readonly title: string }[]): string {
  return parts.map(({ name, title }) => `  ${name.padEnd(14)} ${title}`).join("\n");
}
