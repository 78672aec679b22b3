import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Outcome } from "../../lib/scorecard.js";
import { bundleService } from "../../lib/service-bundle.js";
import { keptDirectory } from "../kept-directory.js";
import { findingsOf } from "../kills/findings-of.js";
import { type KillReport, runKills } from "../kills/run-kills.js";
import { type Context, NONE, type Part, SOME } from "../part.js";
import { cutRig } from "./cut-rig.js";
import { FILE_SYSTEMS, type FileSystem, LoopDisk } from "./loop-disk.js";
import { type NulTailReport, nulTails } from "./nul-tail.js";
import { obstacle } from "./obstacle.js";

/** A control that found nothing after so many cuts finds nothing. */
const MAX_CONTROL_CUTS = 10;

/** Power cuts on real file systems, each in an image of its own. */
export const powerCutsPart: Part = {
  name: "power-cuts",
  title: "Power cuts of a busy service on ext4 and XFS",
  measures: [
    { id: "power_cut_lost", unit: "entries", target: NONE },
    { id: "power_cut_resurrected", unit: "entries", target: NONE },
    { id: "power_cut_wrong", unit: "answers", target: NONE },
    { id: "power_cut_control", unit: "entries", target: SOME },
    { id: "nul_tail_lost", unit: "entries", target: NONE },
    { id: "nul_tail_control", unit: "entries", target: SOME },
  ],
  obstacle,
  run: async (context) => {
    const bundle = await bundleService();
    try {
      const done = { ext4: 0, xfs: 0 };
      const report = (fileSystem: FileSystem, cuts: number): void => {
        done[fileSystem] = cuts;
        context.progress(`${done.ext4} cuts on ext4, ${done.xfs} on XFS, of ${context.size.powerCuts} each`);
      };
      const runs = FILE_SYSTEMS.map((fileSystem) =>
        cutPower(context, fileSystem, bundle.main, (cuts) => report(fileSystem, cuts)),
      );
      const ended = await Promise.allSettled(runs);
      for (const one of ended) if (one.status === "rejected") throw one.reason;
      return outcomeOf(ended.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])));
    } finally {
      bundle.remove();
    }
  },
};

interface CutReport {
  readonly fileSystem: FileSystem;
  readonly load: KillReport;
  readonly control: KillReport;
  readonly nul: NulTailReport;
}

async function cutPower(
  context: Context,
  fileSystem: FileSystem,
  entry: string,
  onKill: (cuts: number) => void,
): Promise<CutReport> {
  const { size, seed } = context;
  const dir = (name: string): string => {
    const path = join(context.dir, `${fileSystem}-${name}`);
    mkdirSync(path);
    return path;
  };
  const disk = LoopDisk.make(dir("disk"), fileSystem);
  try {
    const load = await runKills({
      rig: cutRig({ disk, name: "load", entry }),
      cycles: size.powerCuts,
      dir: dir("load"),
      seed,
      keep: keptDirectory(context, "power-cuts", fileSystem),
      onKill,
    });
    const control = await runKills({
      rig: cutRig({ disk, name: "control", entry, unsynced: true }),
      cycles: MAX_CONTROL_CUTS,
      dir: dir("control"),
      seed,
      untilLoss: true,
    });
    return { fileSystem, load, control, nul: await nulTails(disk, entry, fileSystem === "xfs" ? 1 : undefined) };
  } finally {
    await disk.remove();
  }
}

function outcomeOf(reports: readonly CutReport[]): Outcome {
  const sum = (of: (report: CutReport) => number): number => reports.reduce((all, report) => all + of(report), 0);
  const each = (of: (report: CutReport) => number): string =>
    reports.map((report) => `${of(report)} ${report.fileSystem}`).join(" + ");
  const shown = reports.find(({ fileSystem }) => fileSystem === "ext4")?.nul.shown ?? 0;
  return {
    values: {
      power_cut_lost: sum(({ load }) => load.lost.length),
      power_cut_resurrected: sum(({ load }) => load.resurrected.length),
      power_cut_wrong: sum(({ load, nul }) => load.problems.length + nul.problems.length),
      // On each file system something must be found.
      power_cut_control: Math.min(...reports.map(({ control }) => control.lost.length)),
      nul_tail_lost: sum(({ nul }) => nul.lost.length),
      nul_tail_control: sum(({ nul }) => nul.naiveLost.length),
    },
    facts: {
      cuts: each(({ load, nul }) => load.kills + nul.cuts),
      acknowledged: sum(({ load, nul }) => load.acknowledged + nul.acknowledged),
      lost: sum(({ load, nul }) => load.lost.length + nul.lost.length),
      resurrected: sum(({ load }) => load.resurrected.length),
      torn: sum(({ load, nul }) => load.tornTails + nul.torn),
      "outcomes unknown": sum(({ load }) => load.settled),
      "answered too late to count": sum(({ load }) => load.lateAnswers),
      "unreadable lines": each(({ load }) => load.corruptLines),
      "NUL tails": each(({ nul }) => nul.shown),
    },
    findings: [
      ...reports.flatMap(({ fileSystem, load, nul }) => [
        ...findingsOf(`power cut on ${fileSystem}`, load),
        ...nul.lost.map((entry) => `NUL tail on ${fileSystem} lost ${entry}`),
        ...nul.problems.map((problem) => `NUL tail on ${fileSystem}: ${problem}`),
      ]),
      ...(shown === 0 ? ["no power cut on ext4 left a NUL tail: that case was not shown"] : []),
    ],
  };
}
