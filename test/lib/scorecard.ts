import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { atExit } from "./at-exit.js";

/** What a value is held against. */
export interface Target {
  readonly relation: "=" | ">=" | "<=";
  readonly value: number;
}

/** One figure of the scorecard. */
export interface Measure {
  readonly id: string;
  readonly unit: string;
  readonly target: Target;
  /** Better than asked: reported, and missed without harm. Default none. */
  readonly aim?: Target;
}

export interface Outcome {
  /** By the measures' ids; each has one. */
  readonly values: Readonly<Record<string, number>>;
  /** What to read beside them: acknowledged, torn, seconds. */
  readonly facts: Readonly<Record<string, number | string>>;
  /** What was found wrong, for people. Controls' findings aren't among them. */
  readonly findings: readonly string[];
  /** For programs: what a table or a chart is made of. Default none. */
  readonly series?: unknown;
}

export interface PartContext {
  /** An existing directory; each part gets an empty one of its own in it, removed afterwards. */
  readonly dir: string;
  /** The same seed makes the same choices; what the machine does in between stays its own. */
  readonly seed: number;
  /** Says how far it is, for people: "37 of 200 kills". */
  readonly progress: (text: string) => void;
}

/** A part of a scorecard: it does one thing to what is measured, and gives the figures that came of it. */
export interface Part<Context extends PartContext> {
  /** As `--only` names it. */
  readonly name: string;
  /** One line for people. */
  readonly title: string;
  readonly measures: readonly Measure[];
  /** Why it can't run here, and what to do; undefined when it can. */
  readonly obstacle?: () => string | undefined;
  readonly run: (context: Context) => Promise<Outcome>;
}

/** One line of the scorecard, as `--json` writes it. */
export interface Result {
  readonly id: string;
  /** null: not measured, and `note` says why. */
  readonly value: number | null;
  readonly unit: string;
  /** Such as "<= 2.5". */
  readonly target: string;
  readonly ok: boolean;
  readonly aim?: string;
  readonly note?: string;
}

export interface PartReport {
  readonly results: readonly Result[];
  readonly facts: Outcome["facts"];
  readonly findings: readonly string[];
  readonly series?: unknown;
  readonly seconds: number;
}

/** Runs a part. One that can't run, or breaks off, measured nothing: that is never ok. */
export async function runPart<Context extends PartContext>(part: Part<Context>, options: Context): Promise<PartReport> {
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1000;
  const unmeasured = (note: string): PartReport => ({
    results: part.measures.map((measure) => result(measure, null, note)),
    facts: {},
    findings: [],
    seconds: seconds(),
  });
  const obstacle = part.obstacle?.();
  if (obstacle !== undefined) return unmeasured(obstacle);
  const dir = mkdtempSync(join(options.dir, `reverie-${part.name}-`));
  const removeDir = (): void => rmSync(dir, { recursive: true, force: true });
  const keep = atExit(removeDir);
  try {
    const { values, ...rest } = await part.run({ ...options, dir });
    const results = part.measures.map((measure) => result(measure, values[measure.id] ?? null));
    return { results, ...rest, seconds: seconds() };
  } catch (error) {
    return unmeasured(`broke off: ${error instanceof Error ? error.stack : error}`);
  } finally {
    keep();
    removeDir();
  }
}

function result({ id, unit, target, aim }: Measure, value: number | null, note?: string): Result {
  return {
    id,
    value,
    unit,
    target: inWords(target),
    ok: value !== null && meets(value, target),
    ...(aim !== undefined && { aim: inWords(aim) }),
    ...(note !== undefined && { note }),
  };
}

function inWords({ relation, value }: Target): string {
  return `${relation} ${value}`;
}

function meets(value: number, target: Target): boolean {
  if (target.relation === "=") return value === target.value;
  return target.relation === ">=" ? value >= target.value : value <= target.value;
}
