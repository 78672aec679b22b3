import { dirname } from "node:path";
import { ReverieError } from "@reverie/service-kit/errors";
import { type EffectiveConfig, KINDS, type Kind, type OwnerConfig, type OwnerRef, type OwnerState } from "../store.js";
import type { Batch, Part } from "./batch.js";
import { keepsPartOf } from "./kept-aside.js";
import { encodeHead } from "./line.js";
import { Log } from "./log.js";
import { readOwnerConfig } from "./owner-config.js";
import type { OwnerContext } from "./owner-context.js";
import { isRewriteLeftover } from "./rewrite.js";
import { Writer } from "./writer.js";

/** One of the entries that have an id: its log and its number there. */
export interface Copy {
  readonly log: Log;
  readonly i: number;
}

/** One owner: its logs, what is known of them, and its seqs. Changes go through its `writer`. */
export class Owner {
  readonly key: string;
  readonly directory: string;
  readonly logs: readonly Log[];
  readonly writer: Writer;
  /** undefined: the service's defaults. */
  ownConfig: OwnerConfig | undefined;
  lastAccessMs = 0;
  /** No longer what the owner's name leads to. */
  gone = false;
  /** Who uses this object; it isn't closed before they are done. */
  pins = 0;

  /** The last seq whose change can be read. */
  private seqValue = 0;
  /** The last seq given to a change, which may not be durable yet. */
  private plannedSeq = 0;

  constructor(
    readonly ref: OwnerRef,
    private readonly context: OwnerContext,
  ) {
    this.key = `${ref.kind}/${ref.id}`;
    this.directory = `${context.root.path}/${ref.kind}/${ref.id}`;
    const { root, now } = context;
    this.logs = KINDS.map((kind) => new Log(kind, this.directory, { fs: root.fs, directories: root.directories, now }));
    this.writer = new Writer(this, context);
  }

  async open(): Promise<void> {
    const found = this.context.root.fs.lstatSync(this.directory);
    if (found === undefined) return;
    if (!found.isDirectory()) {
      throw new ReverieError(
        "OWNER_PATH_UNSAFE",
        "the owner's directory is a symbolic link or a file, and is not opened; replace it with the directory itself",
      );
    }
    this.context.root.checkLock();
    try {
      // A process that was killed may have left names here that only the page cache knows.
      const { directories } = this.context.root;
      await directories.sync(this.directory);
      await directories.sync(dirname(this.directory));
      for (const { name } of await this.context.root.fs.readdir(this.directory)) {
        if (isRewriteLeftover(name)) await directories.remove(`${this.directory}/${name}`);
      }
      for (const log of this.logs) await log.open();
      this.ownConfig = await readOwnerConfig(this.context.root.fs, this.directory);
    } catch (error) {
      await this.closeLogs();
      throw error;
    }
    this.seqValue = Math.max(0, ...this.logs.map((log) => log.state.maxSeq));
    this.plannedSeq = this.seqValue;
  }

  get secret(): Buffer {
    return this.context.root.secret;
  }
  now(): number {
    return this.context.now();
  }
  get exists(): boolean {
    return this.context.root.fs.lstatSync(this.directory) !== undefined;
  }
  log(kind: Kind): Log {
    return this.logs[KINDS.indexOf(kind)];
  }
  get live(): number {
    return this.logs.reduce((sum, log) => sum + log.state.index.live, 0);
  }

  /** Lines of ours were read or written: the owner's seq is its own. */
  private get hasSeq(): boolean {
    return this.logs.some((log) => log.state.hasSeq);
  }
  /** The owner's seq; where it has none yet, what its first change will be above. */
  get seq(): number {
    return this.hasSeq ? this.seqValue : this.context.root.seq;
  }
  /** The seq that replies carry: 0 before the first change. */
  get reportedSeq(): number {
    return this.hasSeq ? this.seqValue : 0;
  }
  /** The highest seq given to a change, durable or not. */
  get highestSeq(): number {
    return this.plannedSeq;
  }
  /** Changes up to here can't be replayed. */
  get floor(): number {
    return this.hasSeq ? Math.max(...this.logs.map((log) => log.state.floor)) : this.context.root.seq;
  }
  checkMinSeq(minSeq: number): void {
    if (minSeq <= Math.max(this.seq, this.context.root.seq)) return;
    throw new ReverieError(
      "SEQ_NOT_REACHED",
      `the owner is at seq ${this.reportedSeq}, below ${minSeq}: was it restored from an older copy?`,
      {
        metadata: { seq: String(this.reportedSeq) },
      },
    );
  }

  /** Takes the next seq for a line of this batch; the first line of a new owner is preceded by a head. */
  nextSeq(batch: Batch, part: Part): number {
    if (!this.hasSeq && this.context.root.seq > 0 && !batch.hasHead) {
      const floor = this.context.root.seq;
      this.plannedSeq = Math.max(this.plannedSeq, floor);
      batch.hasHead = true;
      const head = encodeHead(floor, floor, 0);
      const offset = part.offset;
      const { log } = part;
      batch.push(part, head);
      batch.applies.push(() =>
        log.state.apply({ type: "head", seq: floor, floor, dropped: 0 }, head.subarray(0, -1), offset),
      );
    }
    return ++this.plannedSeq;
  }

  /** Live entries of this id, and with `stale` damaged ones, oldest line first. */
  copies(id: string, stale = false): Copy[] {
    const found: Copy[] = [];
    for (const log of this.logs) {
      for (const i of log.state.index.find(id)) {
        if (log.state.index.isLive(i)) {
          if (log.entry(i)?.line.id === id) found.push({ log, i });
          else if (!log.state.index.isStale(i)) continue;
        }
        if (stale && log.state.index.isStale(i) && staleId(log.read(i)) === id) found.push({ log, i });
      }
    }
    return found;
  }

  get forgets(): boolean {
    return this.logs.some((log) => log.state.forgets);
  }
  wasForgotten(hash: string, since: number): boolean {
    return this.logs.some((log) => log.state.wasForgotten(hash, since));
  }

  get config(): EffectiveConfig {
    return { config: this.ownConfig ?? this.context.defaults, attached: this.ownConfig !== undefined };
  }

  describe(): OwnerState {
    const { fs } = this.context.root;
    const changed = this.logs.map((log) => (log.exists ? (fs.lstatSync(log.path)?.mtimeMs ?? 0) : 0));
    return {
      exists: this.exists,
      kinds: this.logs
        .filter((log) => log.exists)
        .map((log) => ({
          kind: log.kind,
          entries: log.state.index.live,
          liveBytes: log.state.index.liveBytes,
          diskBytes: log.state.size,
        })),
      lastAccessMs: Math.trunc(this.lastAccessMs || Math.max(...changed)),
      corruptLines: this.logs.reduce((sum, log) => sum + log.state.corruptLines, 0),
      tornTails: this.logs.reduce((sum, log) => sum + log.tornTails, 0),
      droppedByCaps: this.logs.reduce((sum, log) => sum + log.state.dropped, 0),
      seq: this.reportedSeq,
      floor: this.hasSeq ? this.floor : 0,
      writable: !this.writer.isStopped && !this.context.root.lockLost,
      effective: this.config,
    };
  }

  /** A seq for what an exclusive turn rewrites, as the new floor; `settleSeq` when that is done. */
  takeSeq(): number {
    this.plannedSeq = Math.max(this.plannedSeq, this.seq) + 1;
    return this.plannedSeq;
  }

  /** All that was planned can be read. Not before: a watcher's cursor would pass over it. */
  settleSeq(): void {
    this.seqValue = this.plannedSeq;
  }

  /** Refuses what comes from now on; callers look the owner up again. */
  leave(): void {
    this.gone = true;
  }

  /** An owner that holds nothing at all is none. */
  async removeEmptyDirectory(): Promise<void> {
    const { fs, directories } = this.context.root;
    if (!this.exists || (await fs.readdir(this.directory)).length > 0) return;
    await fs.rmdir(this.directory);
    await directories.sync(dirname(this.directory));
  }

  /** What Clear leaves no trace of: what was taken out of the log and kept beside it. */
  async removeKeptAside(log: Log): Promise<void> {
    const { fs, directories } = this.context.root;
    if (!this.exists) return;
    const kept = (await fs.readdir(this.directory)).filter(({ name }) => keepsPartOf(log.kind, name));
    for (const { name } of kept) await directories.remove(`${this.directory}/${name}`);
    // Also where nothing is left: an earlier try may have removed them and failed here.
    await directories.sync(this.directory);
    log.tornTails = 0;
  }

  /** Ends what is under way, then closes the files. May be called twice. */
  async close(): Promise<void> {
    try {
      await this.writer.close();
    } finally {
      await this.closeLogs();
    }
  }

  private async closeLogs(): Promise<void> {
    const closed = await Promise.allSettled(this.logs.map((log) => log.close()));
    for (const one of closed) if (one.status === "rejected") throw one.reason;
  }

  /** Makes the owner's directory, if its name may be made. */
  async ensureDirectory(): Promise<void> {
    const { names, root } = this.context;
    await names.claim(this.ref, () => root.directories.ensure(this.directory));
  }
}

function staleId(line: Buffer): string | undefined {
  try {
    const parsed = JSON.parse(line.toString()) as { id?: unknown };
    return typeof parsed.id === "string" ? parsed.id : undefined;
  } catch {
    return undefined;
  }
}
