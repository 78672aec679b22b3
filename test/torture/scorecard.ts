import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { atExit } from "./at-exit.js";
import type { Context, Measure, Outcome, Part, Size } from "./part.js";

/** One line of the scorecard, as `--json` writes it. */
export interface Result {
  readonly id: string;
  /** null: not measured, and `note` says why. */
  readonly value: number | null;
  readonly unit: string;
  readonly target: string;
  readonly ok: boolean;
  readonly note?: string;
}

export interface PartReport {
  readonly results: readonly Result[];
  readonly facts: Outcome["facts"];
  readonly findings: readonly string[];
  readonly seconds: number;
}

export interface RunOptions {
  /** An existing directory on the disk under test. */
  readonly dir: string;
  readonly size: Size;
  readonly seed: number;
  readonly progress: (text: string) => void;
}

/** Runs a part. One that can't run, or breaks off, measured nothing: that is never ok. */
export async function runPart(part: Part, options: RunOptions): Promise<PartReport> {
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
  const dir = mkdtempSync(join(options.dir, `reverie-torture-${part.name}-`));
  const removeDir = (): void => rmSync(dir, { recursive: true, force: true });
  const keep = atExit(removeDir);
  const context: Context = { ...options, dir };
  try {
    const { values, facts, findings } = await part.run(context);
    const results = part.measures.map((measure) => result(measure, values[measure.id] ?? null));
    return { results, facts, findings, seconds: seconds() };
  } catch (error) {
    return unmeasured(`broke off: ${error instanceof Error ? error.stack : error}`);
  } finally {
    keep();
    removeDir();
  }
}

function result({ id, unit, wanted }: Measure, value: number | null, note?: string): Result {
  const ok = value !== null && (wanted === "none" ? value === 0 : value > 0);
  return { id, value, unit, target: wanted === "none" ? "= 0" : ">= 1", ok, ...(note !== undefined && { note }) };
}
