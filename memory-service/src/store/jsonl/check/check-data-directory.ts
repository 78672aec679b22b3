import { OWNER_KINDS } from "../../store.js";
import { Directories } from "../directories.js";
import { errorCode, type Fs, realFs } from "../fs.js";
import { DataDirectoryError, lockRoot, lockRootForReading, readFormat, readKey, readSeq, writeSeq } from "../root.js";
import { checkOwner, type OwnerTarget, scanOwner } from "./check-owner.js";
import { type Finding, type Observation, toFinding } from "./finding.js";
import { Quarantine } from "./quarantine.js";
import { readOnlyFs } from "./read-only-fs.js";
import type { LogScan, ScanOptions } from "./scan-log.js";
import { findTargets, totalBytes } from "./targets.js";

export interface CheckOptions {
  readonly dataDir: string;
  /** Do what is said: cut, quarantine, erase, repair. Nothing is deleted. Default false: nothing at all is written. */
  readonly fix?: boolean;
  /** Serve stale lines as they stand now. Cuts tails and ends erases where it does so. Default false. */
  readonly adopt?: boolean;
  /** Ends the check between two steps; what is being mended is finished first. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CheckProgress) => void;
  /** The file system. Default the real one; tests inject faults. */
  readonly fs?: Fs;
  /** Epoch milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

export interface CheckProgress {
  /** Owners that are done. */
  readonly owners: number;
  /** Bytes of logs that were read. */
  readonly bytes: number;
  /** Of all logs, as they were at the beginning. */
  readonly totalBytes: number;
}

export interface CheckSummary {
  /** Live ones and those in the trash. */
  readonly owners: number;
  readonly logs: number;
  /** Blank lines not counted. */
  readonly lines: number;
  /** Live entries. */
  readonly entries: number;
  /** Of the logs. */
  readonly bytes: number;
  /** All that were told, information as well. */
  readonly findings: number;
  /** What was done about findings. */
  readonly fixed: number;
  /** Problems about which nothing was done. 0: all is well. */
  readonly remaining: number;
}

/**
 * Checks the data directory of a memory service that is stopped, or a copy of one. Holds the directory's lock; fails
 * with a `DataDirectoryError` when a service has it, or when it isn't a data directory that this version knows. Logs
 * are read line by line; in memory is what the service itself keeps of one owner.
 */
export async function* checkDataDirectory(options: CheckOptions): AsyncGenerator<Finding, CheckSummary> {
  const { dataDir, fix = false, adopt = false, fs = realFs } = options;
  await refuseOthers(fs, dataDir);
  const lockFd = fix || adopt ? await lockRoot(fs, dataDir) : await lockRootForReading(fs, dataDir);
  try {
    const check = new Check(options, fix || adopt ? fs : readOnlyFs(fs));
    for await (const observation of check.run()) yield check.count(toFinding(observation));
    if (lockFd === undefined && fs.lstatSync(`${dataDir}/.lock`) !== undefined) {
      throw new DataDirectoryError(
        `a service opened ${dataDir} during the check, so what it found means nothing; stop the service, then check again`,
      );
    }
    return check.summary;
  } finally {
    if (lockFd !== undefined) await fs.close(lockFd);
  }
}

/** Before anything is written to it, if only a lock. */
async function refuseOthers(fs: Fs, path: string): Promise<void> {
  let names: string[];
  try {
    names = (await fs.readdir(path)).map(({ name }) => name);
  } catch (error) {
    throw new DataDirectoryError(`cannot read ${path}: ${(error as Error).message}; give the service's data directory`);
  }
  if ((await readFormat(fs, path)) === undefined && ![".trash", ...OWNER_KINDS].some((name) => names.includes(name))) {
    throw new DataDirectoryError(
      `${path} holds neither FORMAT nor owners: it is no data directory of a memory service; give its path`,
    );
  }
}

class Check {
  private readonly directories: Directories;
  private readonly now: () => number;
  private readonly fix: boolean;
  /** undefined: it can't be read. */
  private rootSeq: number | undefined;
  private toldOfSeq = false;
  private progress = { owners: 0, bytes: 0, totalBytes: 0 };
  private totals = { owners: 0, logs: 0, lines: 0, entries: 0, bytes: 0, findings: 0, fixed: 0, remaining: 0 };

  constructor(
    private readonly options: CheckOptions,
    private readonly fs: Fs,
  ) {
    this.directories = new Directories(fs);
    this.now = options.now ?? Date.now;
    this.fix = options.fix ?? false;
  }

  get summary(): CheckSummary {
    return this.totals;
  }

  count(finding: Finding): Finding {
    this.totals.findings++;
    if (finding.done) this.totals.fixed++;
    else if (finding.severity === "problem") this.totals.remaining++;
    return finding;
  }

  async *run(): AsyncGenerator<Observation> {
    const { fs, options } = this;
    const { owners, observations } = await findTargets(fs, this.directories, options.dataDir);
    this.progress.totalBytes = totalBytes(fs, owners);
    yield* this.checkRoot(owners);
    yield* observations;
    for (const owner of owners) {
      options.signal?.throwIfAborted();
      const scans = await scanOwner(owner, this.scanOptions);
      if (owner.inTrash) yield* this.checkSeqOf(scans);
      const found = await checkOwner(owner, scans, {
        ...this.scanOptions,
        directories: this.directories,
        now: this.now,
        fix: this.fix,
        adopt: options.adopt ?? false,
        rootSeq: this.rootSeq,
        raiseRootSeq: (seq) => this.raiseRootSeq(seq),
      });
      this.add(scans);
      yield* found;
    }
  }

  private get scanOptions(): ScanOptions {
    const read = (bytes: number): void => {
      this.progress.bytes += bytes;
      this.options.onProgress?.({ ...this.progress });
    };
    const { signal, adopt = false } = this.options;
    return { fs: this.fs, signal, sync: this.fix || adopt, read };
  }

  private add(scans: readonly LogScan[]): void {
    this.totals.owners = ++this.progress.owners;
    for (const { exists, lines, size, state } of scans) {
      if (exists) this.totals.logs++;
      this.totals.lines += lines;
      this.totals.bytes += size;
      this.totals.entries += state.index.live;
    }
    this.options.onProgress?.({ ...this.progress });
  }

  private async *checkRoot(owners: readonly OwnerTarget[]): AsyncGenerator<Observation> {
    const { fs } = this;
    const root = this.options.dataDir;
    const isThere = fs.lstatSync(`${root}/FORMAT`) !== undefined;
    if (!isThere) yield { path: "FORMAT", problem: "no-format" };
    try {
      if ((await readKey(fs, root)) === undefined && isThere) yield { path: ".key", problem: "no-key" };
    } catch (error) {
      if (error instanceof DataDirectoryError) yield { path: ".key", problem: "key-unreadable" };
      else yield { path: ".key", problem: "unreadable", detail: errorCode(error) };
    }
    try {
      this.rootSeq = await readSeq(fs, root);
    } catch (error) {
      if (error instanceof DataDirectoryError) yield* this.repairSeq(owners);
      else yield { path: ".seq", problem: "unreadable", detail: errorCode(error) };
    }
  }

  private async *repairSeq(owners: readonly OwnerTarget[]): AsyncGenerator<Observation> {
    const { fs, directories } = this;
    const path = `${this.options.dataDir}/.seq`;
    const observation: Observation = { path: ".seq", problem: "seq-unreadable" };
    if (fs.lstatSync(path)?.isFile() !== true) {
      observation.obstacle = "it is no regular file: move it away first";
      yield observation;
      return;
    }
    yield* this.mendSeq(observation, async () => {
      let highest = 0;
      for (const owner of owners) {
        for (const { state } of await scanOwner(owner, { ...this.scanOptions, read: () => {} }))
          highest = Math.max(highest, state.maxSeq);
      }
      const old = await fs.readFile(path);
      const quarantine = new Quarantine(fs, directories, path, this.now);
      const all = { at: 0, bytes: old.length, line: 1, problem: observation.problem };
      await quarantine.add(all, (at, bytes) => old.subarray(at, at + bytes));
      await quarantine.flush();
      await this.raiseRootSeq(highest + 1);
    });
  }

  /** An owner in the trash, or whoever has its name next, must not begin below its seqs again. */
  private async *checkSeqOf(scans: readonly LogScan[]): AsyncGenerator<Observation> {
    if (this.rootSeq === undefined || !scans.some(({ state }) => state.hasSeq)) return;
    const needed = Math.max(...scans.map(({ state }) => state.maxSeq)) + 1;
    if (this.rootSeq >= needed) return;
    const observation: Observation = { path: ".seq", problem: "seq-too-low" };
    for await (const one of this.mendSeq(observation, () => this.raiseRootSeq(needed)))
      if (one !== observation || !this.toldOfSeq) yield one;
    this.toldOfSeq = true;
  }

  private async *mendSeq(observation: Observation, mend: () => Promise<void>): AsyncGenerator<Observation> {
    if (this.fix) {
      try {
        await mend();
        observation.done = true;
      } catch (error) {
        this.options.signal?.throwIfAborted();
        yield { path: ".seq", problem: "not-mended", detail: errorCode(error) || String(error) };
      }
    }
    yield observation;
  }

  private async raiseRootSeq(seq: number): Promise<void> {
    if (seq <= (this.rootSeq ?? 0)) return;
    await writeSeq(this.directories, this.options.dataDir, seq);
    this.rootSeq = seq;
  }
}
