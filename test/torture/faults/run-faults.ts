import { join } from "node:path";
import { prepare, runPoint } from "./fault-point.js";
import type { Ending, Fault } from "./faulty-fs.js";
import type { Scenario } from "./scenarios.js";

/** Every way in which each call fails. */
export const faults: readonly Fault[] = [
  ...["EIO", "EROFS", "ENOSPC", "EDQUOT", "EMFILE"].map((code) => ({ name: code, code })),
  { name: "EXDEV", code: "EXDEV", calls: ["rename"] },
  { name: "a short write, then ENOSPC", code: "ENOSPC", calls: ["write"], short: true },
  { name: "a short write", code: "", calls: ["write"], short: true },
  ...["EIO", "ENOSPC"].map((code) => ({
    name: `${code} of a sync`,
    code,
    calls: ["fsync", "fdatasync"] as const,
    ending: "cut" as const,
  })),
  { name: "EIO until mended", code: "EIO", sticky: true },
  { name: "ENOSPC until there is space", code: "ENOSPC", calls: ["write", "mkdir", "open", "rename"], sticky: true },
];

/** The negative control: what changes a file claims to have worked, and did nothing. */
export const swallowed: Fault = {
  name: "a call that only claims to have worked",
  code: "EIO",
  calls: ["write", "rename", "ftruncate", "unlink"],
  swallowed: true,
};

export interface FaultRuns {
  readonly points: number;
  readonly acknowledged: number;
  readonly refused: number;
  /** Points at which something was wrong. */
  readonly broken: number;
  readonly wrong: readonly string[];
}

export interface FaultOptions {
  /** Empty; what is made in it goes again. */
  readonly dir: string;
  readonly scenarios: readonly Scenario[];
  readonly faults: readonly Fault[];
  /** Every so-manieth call fails. 1: every one. */
  readonly step: number;
  /** Decides which, where not every one does. Default 0. */
  readonly seed?: number;
  readonly progress?: (text: string) => void;
}

const ENDINGS: readonly Ending[] = ["retry", "close", "cut"];
/** Points at once: most of their time is spent waiting for a stopped owner's recovery. */
const AT_ONCE = 16;

/** Fails every call of every operation in every way, each in a run of its own. */
export async function runFaults(options: FaultOptions): Promise<FaultRuns> {
  const { dir, scenarios, faults, step, seed = 0, progress } = options;
  const wrong: string[] = [];
  let points = 0;
  let acknowledged = 0;
  let broken = 0;
  for (const [number, scenario] of scenarios.entries()) {
    const prepared = await prepare(scenario, join(dir, String(number)));
    const most = (fault: Fault): number => {
      const names = fault.calls ?? [...prepared.calls.keys()];
      return names.reduce((sum, name) => sum + (prepared.calls.get(name) ?? 0), 0);
    };
    const lines = faults.map((fault, i) => {
      const n = 1 + ((seed + 17 * number + 5 * i) % step);
      // Where only some fail, nothing is gained by looking for one more call than there are.
      return { fault, i, n, over: step > 1 && n > most(fault) };
    });
    const work = async (worker: number): Promise<void> => {
      for (;;) {
        const line = lines.find(({ over }) => !over);
        if (line === undefined) return;
        const { fault, i, n } = line;
        // There are more codes than endings: between them, each call gets all.
        const ending = fault.ending ?? ENDINGS[(n + i) % ENDINGS.length];
        line.n += step;
        if (step > 1 && line.n > most(fault)) line.over = true;
        const outcome = await runPoint(prepared, fault, n, ending, join(dir, String(number), `run-${worker}`));
        if (outcome.wrong.length > 0) broken++;
        wrong.push(...outcome.wrong.map((what) => `${what} [${ending}]`));
        if (outcome.beyond) {
          line.over = true;
          continue;
        }
        points++;
        if (outcome.acknowledged) acknowledged++;
        progress?.(`${points} calls failed, now of ${scenario.name}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, (_, worker) => work(worker)));
  }
  return { points, acknowledged, refused: points - acknowledged, broken, wrong };
}
