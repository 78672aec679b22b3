import type { Directories } from "../directories.js";
import type { Fs } from "../fs.js";
import { nextNumbered } from "../kept-aside.js";
import { Log } from "../log.js";
import { type Adoption, adopt } from "./adopt.js";
import type { LineObservation } from "./finding.js";
import { problems } from "./problems.js";
import { Quarantine } from "./quarantine.js";
import type { LogScan } from "./scan-log.js";

export interface MendOptions {
  readonly fs: Fs;
  readonly directories: Directories;
  readonly now: () => number;
}

export interface Mending {
  /** Bad lines go into quarantine. */
  readonly quarantine: boolean;
  readonly adoptions: readonly Adoption[];
  /** New lines get seqs above this; with `head`, the first is preceded by one. */
  readonly seq: number;
  readonly head: boolean;
}

/**
 * Does to one log what a check says of it, and marks what is done. Whatever it breaks off at, the service opens the
 * log with nothing lost, and the next run goes on. Returns the highest seq given out.
 */
export async function mendLog(scan: LogScan, directory: string, how: Mending, options: MendOptions): Promise<number> {
  const { fs, directories, now } = options;
  if (has(scan, "cut")) await keepOlderTails(scan, fs, directories, directory);
  const log = new Log(scan.kind, directory, options);
  try {
    // As the service opens it: the torn tail is cut, a missing newline added, broken-off erases end.
    await log.open();
    for (const one of scan.observations) {
      const { action } = problems[one.problem];
      if (action === "cut" || action === "erase" || action === "repair") one.done = true;
    }
    const quarantine = new Quarantine(fs, directories, log.path, now);
    if (how.quarantine) await quarantineBadLines(scan, log, quarantine);
    if (how.adoptions.length === 0) return how.seq;
    return await adopt(log, how.adoptions, how, quarantine);
  } finally {
    await log.close();
  }
}

function has(scan: LogScan, action: string): boolean {
  return scan.observations.some(({ problem }) => problems[problem].action === action);
}

async function quarantineBadLines(scan: LogScan, log: Log, quarantine: Quarantine): Promise<void> {
  const bad = scan.observations.filter(
    (one): one is LineObservation => problems[one.problem].action === "quarantine" && one.bytes !== undefined,
  );
  if (bad.length === 0) return;
  for (const one of bad) await quarantine.add(one, (at, bytes) => log.readRange(at, bytes));
  await quarantine.flush();
  await log.erase(bad.map(({ at, bytes }) => ({ at, len: bytes })));
  await log.sync();
  for (const one of bad) one.done = true;
}

/** The service lets go of the older of two full `.torn` files when it begins a third; a check lets go of nothing. */
async function keepOlderTails(scan: LogScan, fs: Fs, directories: Directories, directory: string): Promise<void> {
  const torn = `${scan.file}.torn`;
  if (fs.lstatSync(`${torn}.1`) === undefined) return;
  await fs.rename(`${torn}.1`, await nextNumbered(fs, torn));
  await directories.sync(directory);
}
