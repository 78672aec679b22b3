import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Outcome } from "../../lib/scorecard.js";
import type { ServiceBundle } from "../../lib/service-bundle.js";
import { keptDirectory } from "../kept-directory.js";
import { type Context, NONE, type Part, SOME } from "../part.js";
import { findingsOf } from "./findings-of.js";
import { type KillReport, runKills } from "./run-kills.js";
import { bundleVictims, type Victim, victimRig } from "./victims.js";

/** A control that found nothing after so many kills finds nothing. */
const MAX_CONTROL_KILLS = 20;
/** Simulated power cuts, for each kill. */
const CUTS_PER_KILL = 0.3;

/** kill -9 of a busy service, and the same of one whose page cache dies with it. */
export const killNinePart: Part = {
  name: "kill-nine",
  title: "kill -9 of a busy service, and simulated power cuts",
  measures: [
    { id: "kill9_lost", unit: "entries", target: NONE },
    { id: "kill9_resurrected", unit: "entries", target: NONE },
    { id: "kill9_unreadable", unit: "lines, answers", target: NONE },
    { id: "kill9_control", unit: "entries", target: SOME },
    { id: "simulated_cut_lost", unit: "entries", target: NONE },
    { id: "simulated_cut_resurrected", unit: "entries", target: NONE },
    { id: "simulated_cut_wrong", unit: "answers", target: NONE },
    { id: "simulated_cut_control", unit: "entries", target: SOME },
  ],
  run: async (context) => {
    const bundle = await bundleVictims();
    try {
      return await killNine(context, bundle);
    } finally {
      bundle.remove();
    }
  },
};

async function killNine(context: Context, bundle: ServiceBundle): Promise<Outcome> {
  const { size, seed, progress } = context;
  const cuts = Math.max(1, Math.round(size.kills * CUTS_PER_KILL));
  const done = { kill9: 0, "power-cut": 0 };
  const run = (victim: Victim, cycles: number): Promise<KillReport> => {
    const dir = join(context.dir, victim);
    mkdirSync(dir);
    const untilLoss = victim !== "kill9" && victim !== "power-cut";
    const onKill = (kills: number): void => {
      if (untilLoss) return;
      done[victim as keyof typeof done] = kills;
      progress(`${done.kill9} of ${size.kills} kills, ${done["power-cut"]} of ${cuts} simulated power cuts`);
    };
    const keep = untilLoss ? undefined : keptDirectory(context, "kill-nine", victim);
    const rig = victimRig(victim, bundle, dir, seed);
    return runKills({ rig, cycles, dir, seed, untilLoss, onKill, ...(keep !== undefined && { keep }) });
  };
  // Side by side: most of the time a service is starting.
  const simulated = async () => ({
    cut: await run("power-cut", cuts),
    unsynced: await run("power-cut-unsynced", MAX_CONTROL_KILLS),
    late: await run("late-writer", MAX_CONTROL_KILLS),
  });
  const [killed, others] = await Promise.allSettled([run("kill9", size.kills), simulated()]);
  if (killed.status === "rejected") throw killed.reason;
  if (others.status === "rejected") throw others.reason;
  const { cut, unsynced, late } = others.value;
  const kill9 = killed.value;
  return {
    values: {
      kill9_lost: kill9.lost.length,
      kill9_resurrected: kill9.resurrected.length,
      kill9_unreadable: kill9.corruptLines + kill9.problems.length,
      kill9_control: late.lost.length,
      simulated_cut_lost: cut.lost.length,
      simulated_cut_resurrected: cut.resurrected.length,
      // Unreadable lines may be left of what was never acknowledged, its pages written in any order.
      simulated_cut_wrong: cut.problems.length,
      simulated_cut_control: unsynced.lost.length,
    },
    facts: {
      kills: kill9.kills,
      acknowledged: kill9.acknowledged,
      lost: kill9.lost.length,
      resurrected: kill9.resurrected.length,
      torn: kill9.tornTails,
      "outcomes unknown": kill9.settled,
      "simulated cuts": cut.kills,
      "acknowledged before them": cut.acknowledged,
      "torn by them": cut.tornTails,
      "unreadable after them": cut.corruptLines,
    },
    findings: [
      ...findingsOf("kill -9", kill9),
      ...(kill9.corruptLines > 0 ? [`kill -9 left ${kill9.corruptLines} unreadable lines`] : []),
      ...findingsOf("simulated cut", cut),
    ],
  };
}
