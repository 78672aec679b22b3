import { join } from "node:path";
import type { Outcome } from "../../lib/scorecard.js";
import { type Context, NONE, type Part, SOME } from "../part.js";
import { faults, runFaults, swallowed } from "./run-faults.js";
import { scenarios } from "./scenarios.js";

/** What the negative control runs, every call of each. */
const CONTROLS = ["remember", "forget", "soft delete"];

/** Fails the nth call to the file system, for every n of every operation, through the store's `Fs`. */
export const faultsPart: Part = {
  name: "faults",
  title: "Every call to the file system fails in turn",
  measures: [
    { id: "nth_call_failures", unit: "calls", target: NONE },
    { id: "nth_call_control", unit: "calls", target: SOME },
  ],
  run,
};

async function run({ dir, size, seed, progress }: Context): Promise<Outcome> {
  const measured = await runFaults({
    dir: join(dir, "faults"),
    scenarios,
    faults,
    step: size.faultStep,
    seed,
    progress,
  });
  const controls = scenarios.filter(({ name }) => CONTROLS.includes(name));
  const control = await runFaults({ dir: join(dir, "control"), scenarios: controls, faults: [swallowed], step: 1 });
  return {
    values: { nth_call_failures: measured.broken, nth_call_control: control.broken },
    facts: {
      operations: scenarios.length,
      "failed calls": measured.points,
      acknowledged: measured.acknowledged,
      refused: measured.refused,
    },
    findings: measured.wrong,
  };
}
