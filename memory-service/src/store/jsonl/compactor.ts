import type { Kind } from "../store.js";
import { errorCode, type Fs } from "./fs.js";
import type { Log } from "./log.js";
import { Rewrite, type RewriteOptions } from "./rewrite.js";
import { asHalfDone } from "./storage-error.js";
import type { StoreLog } from "./store-log.js";

export interface CompactorOptions {
  readonly fs: Fs;
  readonly syncDirectory: (path: string) => Promise<void>;
  readonly now: () => number;
  readonly minBytes: number;
  readonly log: StoreLog;
  /** The highest seq given out: what a rewritten log's head holds. */
  readonly seq: () => number;
  /** Runs with no change beside it. */
  readonly exclusive: <T>(run: () => Promise<T>) => Promise<T>;
  /** The log was renamed, but maybe not durably: it must be rewritten before it takes writes again. */
  readonly failed: (error: unknown) => void;
  readonly done: (log: Log) => void;
  /** Another process wrote to the log: what it wrote must be read before the file is replaced. Throws. */
  readonly foreign: () => never;
  readonly counters: { compactions: number };
}

export type RewriteHow = Pick<RewriteOptions, "floor" | "dropped" | "keep" | "leaveBad" | "cleared" | "switched">;

/** Rewrites an owner's logs: at once for what asks for it, and beside the writes when much of one is waste. */
export class Compactor {
  private readonly running = new Map<Log, { readonly rewrite: Rewrite; readonly ended: Promise<void> }>();
  private closed = false;

  constructor(
    private readonly owner: string,
    private readonly options: CompactorOptions,
  ) {}

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  /** Rewrites one log within an exclusive turn. */
  async rewrite(log: Log, how: RewriteHow = {}): Promise<void> {
    if (!log.isOurs()) this.options.foreign();
    await this.recover(log, how);
  }

  /** The same for a stopped log, whose file holds what was refused. */
  async recover(log: Log, how: RewriteHow): Promise<void> {
    await this.cancel(log);
    const rewrite = this.begin(log, how);
    try {
      await rewrite.copy();
      await this.finish(log, rewrite);
    } catch (error) {
      await rewrite.abandon();
      throw error;
    }
  }

  compactWhenWasteful(log: Log): void {
    const waste = log.state.wasteAt(this.options.now());
    if (waste < this.options.minBytes || waste * 2 < log.state.size || this.running.has(log) || this.closed) return;
    const rewrite = this.begin(log, {});
    const ended = this.compact(log, rewrite).finally(() => this.running.delete(log));
    this.running.set(log, { rewrite, ended });
  }

  /** Ends what runs, and begins nothing more. */
  async close(): Promise<void> {
    this.closed = true;
    for (const { rewrite, ended } of [...this.running.values()]) {
      rewrite.cancelled = true;
      await ended;
    }
  }

  private begin(log: Log, how: Partial<RewriteOptions>): Rewrite {
    const { fs, syncDirectory, now, seq } = this.options;
    return new Rewrite(log, { fs, syncDirectory, now: now(), seq, ...how });
  }

  /** Within the exclusive turn: what fails here must be known before the next change. */
  private async finish(log: Log, rewrite: Rewrite): Promise<void> {
    try {
      await rewrite.finish();
    } catch (error) {
      if (!rewrite.renamed) throw error;
      this.options.failed(error);
      throw asHalfDone(error);
    }
    this.options.done(log);
  }

  private async compact(log: Log, rewrite: Rewrite): Promise<void> {
    const before = log.state.size;
    try {
      await rewrite.copy();
      await this.options.exclusive(async () => {
        if (rewrite.cancelled) throw new Error("the log's rewriting was cancelled");
        if (!log.isOurs()) this.options.foreign();
        await this.finish(log, rewrite);
      });
      this.options.counters.compactions++;
      this.say("info", log.kind, { before, after: log.state.size }, "a log was compacted");
    } catch (error) {
      await rewrite.abandon().catch(() => {});
      if (!rewrite.cancelled) this.say("warn", log.kind, { code: errorCode(error) }, "a log was not compacted");
    }
  }

  private say(level: "info" | "warn", kind: Kind, fields: object, message: string): void {
    this.options.log[level]({ owner: this.owner, kind, ...fields }, message);
  }

  private async cancel(log: Log): Promise<void> {
    const running = this.running.get(log);
    if (running === undefined) return;
    running.rewrite.cancelled = true;
    // Its last step waits for a turn in the queue, where it will find itself cancelled: only the copying is awaited.
    await running.rewrite.copied.catch(() => {});
    await running.rewrite.abandon();
  }
}
