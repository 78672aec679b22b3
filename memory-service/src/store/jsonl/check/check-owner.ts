import { dirname } from "node:path";
import { ReverieError } from "@reverie/service-kit/errors";
import { KINDS } from "../../store.js";
import type { Directories } from "../directories.js";
import { errorCode } from "../fs.js";
import { readOwnerConfig } from "../owner-config.js";
import { isRewriteLeftover } from "../rewrite.js";
import { type AdoptionPlan, planAdoptions } from "./adopt.js";
import type { Observation } from "./finding.js";
import { mendLog } from "./mend-log.js";
import { problems } from "./problems.js";
import { LogScan, type ScanOptions } from "./scan-log.js";

/** An owner's directory, live or in the trash. */
export interface OwnerTarget {
  readonly directory: string;
  /** Relative to the data directory. */
  readonly path: string;
  readonly inTrash: boolean;
}

export interface OwnerCheck extends ScanOptions {
  readonly directories: Directories;
  readonly now: () => number;
  readonly fix: boolean;
  readonly adopt: boolean;
  /** What no owner starts below; undefined where the file can't be read. */
  readonly rootSeq: number | undefined;
  /** Makes sure, durably, that `rootSeq` is at least this. */
  readonly raiseRootSeq: (seq: number) => Promise<void>;
}

/** Reads an owner's logs, as far as they can be read. */
export async function scanOwner(target: OwnerTarget, options: ScanOptions): Promise<LogScan[]> {
  const scans: LogScan[] = [];
  for (const kind of KINDS) {
    const scan = new LogScan(kind, target.directory, `${target.path}/${kind}.jsonl`, [...scans]);
    scans.push(scan);
    await scan.run(options);
  }
  return scans;
}

/** Tells what is found in an owner's scanned directory, and mends it when asked to. */
export async function checkOwner(
  target: OwnerTarget,
  scans: readonly LogScan[],
  options: OwnerCheck,
): Promise<Observation[]> {
  const around = await lookAround(target, options);
  const plan = planAdoptions(scans, options.rootSeq);
  const repeated = scans.flatMap((scan) => repeatedIds(scan, scans));
  if (options.fix || options.adopt) {
    try {
      await mend(target, scans, plan, options);
    } catch (error) {
      around.push({ path: target.path, problem: "not-mended", detail: errorCode(error) || String(error) });
    }
  }
  return [...around, ...scans.flatMap(({ observations }) => observations), ...repeated];
}

async function lookAround({ directory, path }: OwnerTarget, { fs }: OwnerCheck): Promise<Observation[]> {
  const seen: Observation[] = [];
  try {
    for (const { name } of await fs.readdir(directory))
      if (isRewriteLeftover(name)) seen.push({ path: `${path}/${name}`, problem: "leftover" });
  } catch (error) {
    return [{ path, problem: "unreadable", detail: errorCode(error) }];
  }
  try {
    await readOwnerConfig(fs, directory);
  } catch (error) {
    const file = `${path}/.reverie.json`;
    if (error instanceof ReverieError) seen.push({ path: file, problem: "config-unreadable" });
    else seen.push({ path: file, problem: "unreadable", detail: errorCode(error) });
  }
  return seen;
}

function repeatedIds(scan: LogScan, scans: readonly LogScan[]): Observation[] {
  const seen: Observation[] = [];
  for (const [id, place] of scan.repeatedIds) {
    let copies = 0;
    let allLegacy = true;
    for (const { state } of scans) {
      for (const i of state.index.find(id)) {
        if (!state.index.isLive(i)) continue;
        copies++;
        // Copies of legacy lines keep their place below 0, also when they were patched or compacted.
        allLegacy &&= state.index.ord(i) < 0;
      }
    }
    if (copies < 2) continue;
    const problem = allLegacy ? "duplicate-legacy-id" : "duplicate-id";
    seen.push({ path: scan.path, problem, ...place, id, detail: String(copies) });
  }
  return seen;
}

async function mend(
  target: OwnerTarget,
  scans: readonly LogScan[],
  { byLog, above, needsHead }: AdoptionPlan,
  options: OwnerCheck,
): Promise<void> {
  const { fix, directories } = options;
  const work = scans.filter(
    (scan) => !scan.isBroken && scan.exists && (adoptionsOf(scan).length > 0 || isFixable(scan)),
  );
  function adoptionsOf(scan: LogScan) {
    return options.adopt ? (byLog.get(scan) ?? []) : [];
  }
  function isFixable({ observations }: LogScan): boolean {
    return fix && observations.some(({ problem }) => !["none", "adopt"].includes(problems[problem].action));
  }
  if (work.length === 0) return;
  // A process that was killed may have left names that only the page cache knows.
  const depth = target.path.split("/").length;
  for (let directory = target.directory, i = 0; i <= depth; i++, directory = dirname(directory))
    await directories.sync(directory);
  const adopted = scans.reduce((sum, scan) => sum + adoptionsOf(scan).length, 0);
  if (target.inTrash && adopted > 0) await options.raiseRootSeq(above + adopted + 1);
  let seq = above;
  let head = needsHead;
  for (const scan of work) {
    const adoptions = adoptionsOf(scan);
    seq = await mendLog(scan, target.directory, { quarantine: fix, adoptions, seq, head }, options);
    if (adoptions.length > 0) head = false;
  }
}
