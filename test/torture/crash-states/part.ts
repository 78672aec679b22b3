import { join } from "node:path";
import type { Outcome } from "../../lib/scorecard.js";
import { type Context, NONE, type Part, SOME } from "../part.js";
import { controls } from "./controls.js";
import { type Recorded, record } from "./record.js";
import { runStates } from "./run-states.js";

/** States that are made from one trace of a killed process and its successor. */
const STATES_A_KILL = 26;
const CONTROL_STATES = 120;

/** What crashes leave, made from recorded traces: each is opened, compared with what was acknowledged, and written to. */
export const crashStatesPart: Part = {
  name: "crash-states",
  title: "States that a crash may leave on the disk",
  measures: [
    { id: "crash_state_failures", unit: "states", target: NONE },
    {
      id: "crash_state_control",
      unit: "states",
      target: SOME,
    },
  ],
  run,
};

async function run({ dir, size, seed, progress }: Context): Promise<Outcome> {
  const whole = await record({ base: join(dir, "whole") });
  const traces: Recorded[] = [whole];
  const kills = Math.max(2, Math.round(size.crashStates / STATES_A_KILL));
  for (let i = 0; i < kills; i++) {
    progress(`recording, killed ${i} of ${kills} times`);
    const fatal = Math.floor(((i + (seed % 10) / 10) / kills) * whole.changes);
    traces.push(await record({ base: join(dir, `killed-${i}`), fatal }));
  }
  const early = traces.flatMap(({ wrong }) => wrong);
  const measured = await runStates({ dir, traces, states: size.crashStates, seed, progress });

  const found: Record<string, number> = {};
  for (const { name, ...options } of controls) {
    progress(`control: ${name}`);
    const trace = await record({ base: join(dir, "control"), ...options });
    found[`found ${name}`] = (await runStates({ dir, traces: [trace], states: CONTROL_STATES, seed })).broken;
  }
  return {
    values: {
      crash_state_failures: measured.broken + early.length,
      crash_state_control: Math.min(...Object.values(found)),
    },
    facts: {
      states: measured.states,
      traces: traces.length,
      "changes in the longest": whole.changes,
      "torn tails": measured.torn,
      "outcomes unknown": measured.unknown,
      ...found,
    },
    findings: [...early, ...measured.wrong],
  };
}
