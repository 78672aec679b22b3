import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { NONE, type Part, SOME } from "../part.js";
import { fiuObstacle } from "./fiu.js";
import { runSyncErrors } from "./run-sync-errors.js";

/** A sync of one owner's log fails (libfiu, in the real service): that owner stops, says so, and loses nothing. */
export const syncErrorPart: Part = {
  name: "sync-error",
  title: "One failed fdatasync: nothing acknowledged after it, others go on, health tells",
  measures: [
    { id: "sync_error_failures", unit: "findings", target: NONE },
    { id: "sync_error_control", unit: "findings", target: SOME },
  ],
  obstacle: fiuObstacle,
  async run({ dir, size, seed, progress }) {
    const at = (name: string): string => {
      mkdirSync(join(dir, name));
      return join(dir, name);
    };
    const report = await runSyncErrors({ rounds: size.powerCuts, dir: at("service"), seed, progress });
    const control = await runSyncErrors({ rounds: 1, dir: at("control"), seed, swallowing: true });
    return {
      values: {
        sync_error_failures: report.findings.length,
        // Nothing counts unless the test build did meet the failure.
        sync_error_control: control.swallowed === 0 ? 0 : control.findings.length,
      },
      facts: {
        "failed syncs": report.rounds,
        acknowledged: report.acknowledged,
        refused: report.refused,
        "acknowledged to others meanwhile": report.othersAcknowledged,
        "ms until it took writes again, at most": Math.round(report.longestHealMs),
      },
      findings: report.findings,
    };
  },
};
