import { ReverieError } from "@reverie/service-kit/errors";
import { Batch, type Part } from "./batch.js";
import { AppendChange, type Change } from "./changes.js";
import { Compactor } from "./compactor.js";
import { errorCode } from "./fs.js";
import { reencodingBytes } from "./line.js";
import type { Log } from "./log.js";
import type { Owner } from "./owner.js";
import { type OwnerContext, OwnerGone } from "./owner-context.js";
import { asStorageError, isDiskFull } from "./storage-error.js";

const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 30_000;

/** What runs alone, when all changes before it are committed. */
interface Turn {
  readonly run: () => Promise<void>;
  readonly fail: (error: unknown) => void;
}

/**
 * The queue that all changes of one owner go through. What waits in it goes to disk together: one write and one sync
 * a file, then the index, then the answers. A failed sync stops it until the logs are rewritten from what is durable.
 */
export class Writer {
  readonly compactor: Compactor;
  private queue: (Change | Turn)[] = [];
  private running: Promise<void> | undefined;
  private stopped: { readonly error: unknown; readonly retryAt: number; readonly pauseMs: number } | undefined;
  private readonly unsynced = new Set<Log>();
  private syncTimer: NodeJS.Timeout | undefined;
  private retryTimer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly owner: Owner,
    private readonly context: OwnerContext,
  ) {
    const { root, now, compactMinBytes, log, counters } = context;
    this.compactor = new Compactor(owner.key, {
      fs: root.fs,
      syncDirectory: (path) => root.directories.sync(path),
      now,
      minBytes: compactMinBytes,
      log,
      counters,
      seq: () => owner.highestSeq,
      exclusive: (run) => this.exclusive(run),
      failed: (error) => void this.stop(error, "rename"),
      done: (rewritten) => this.unsynced.delete(rewritten),
      foreign: () => this.foreign(),
    });
  }

  get isStopped(): boolean {
    return this.stopped !== undefined;
  }

  /** Nothing waits and nothing runs. */
  get isIdle(): boolean {
    return this.running === undefined && this.queue.length === 0 && this.compactor.isIdle;
  }

  submit(change: Change): void {
    if (this.owner.gone) {
      change.fail(new OwnerGone());
      return;
    }
    this.queue.push(change);
    this.running ??= this.run();
  }

  exclusive<T>(run: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.owner.gone) {
        reject(new OwnerGone());
        return;
      }
      this.queue.push({ run: async () => resolve(await run()), fail: reject });
      this.running ??= this.run();
    });
  }

  /** Finishes what waits, and leaves nothing unsynced. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    while (this.running !== undefined) await this.running;
    await this.compactor.close();
    clearTimeout(this.syncTimer);
    clearTimeout(this.retryTimer);
    // Else the next start would take what was refused for what was stored.
    if (this.stopped !== undefined && !this.owner.gone) await this.recover(true);
    const synced = await Promise.allSettled([...this.unsynced].map((log) => log.sync()));
    for (const one of synced) if (one.status === "rejected") throw one.reason;
  }

  private async run(): Promise<void> {
    // Lets calls of the same turn of the event loop join the first batch.
    await Promise.resolve();
    while (this.queue.length > 0) {
      const work = this.queue;
      this.queue = [];
      await this.work(work);
    }
    this.running = undefined;
  }

  private async work(work: (Change | Turn)[]): Promise<void> {
    let next = 0;
    while (next < work.length) {
      const first = work[next];
      if (this.owner.gone) {
        next++;
        first.fail(new OwnerGone());
      } else if (this.stopped !== undefined && !(await this.recover("run" in first))) {
        // A turn may move the files elsewhere: what was refused must not go along.
        next++;
        first.fail(this.stoppedError());
      } else {
        next = await this.workFrom(work, next);
      }
    }
  }

  /** Returns where to go on. */
  private async workFrom(work: (Change | Turn)[], next: number): Promise<number> {
    const first = work[next];
    try {
      this.context.root.checkLock();
    } catch (error) {
      first.fail(error);
      return next + 1;
    }
    if (!("run" in first)) return this.commitFrom(work, next);
    await first.run().catch(first.fail);
    return next + 1;
  }

  /** Plans changes from `next` on into one batch and commits it. Returns where to go on. */
  private async commitFrom(work: (Change | Turn)[], start: number): Promise<number> {
    const batch = new Batch();
    const planned: Change[] = [];
    let unfinished: Change | undefined;
    let next = start;
    for (; next < work.length && unfinished === undefined; next++) {
      const change = work[next];
      if ("run" in change || batch.isFull) break;
      const before = batch.mark();
      try {
        if (change.plan(this.owner, batch)) planned.push(change);
        else unfinished = change;
      } catch (error) {
        batch.backTo(before);
        change.fail(error);
      }
    }
    if (unfinished !== undefined) next--;
    const failed = await this.commit(batch, unfinished === undefined ? planned : [...planned, unfinished]);
    if (failed !== undefined) {
      for (const change of planned) change.fail(failed);
      if (unfinished !== undefined) {
        unfinished.fail(failed);
        next++;
      }
      return next;
    }
    for (const change of planned) change.done(this.owner);
    return next;
  }

  /** Returns the error to give to the batch's changes; undefined when all is durable. */
  private async commit(batch: Batch, changes: readonly Change[]): Promise<unknown> {
    const parts = batch.written;
    if (parts.length === 0) return undefined;
    try {
      await this.prepare(parts);
    } catch (error) {
      return this.asFailure(error, "prepare");
    }
    const refused = await this.write(parts, changes);
    if (refused !== undefined) return refused;
    try {
      await this.syncLogs(parts.map((part) => part.log));
    } catch (error) {
      // What is refused must not be found by who opens the log after a kill; the rewrite comes later, if at all.
      await Promise.allSettled(parts.map((part) => part.log.unwrite()));
      return this.stop(error, "sync");
    }
    this.context.counters.commits++;
    this.context.disk.works();
    for (const apply of batch.applies) apply();
    this.owner.settleSeq();
    this.context.changed(this.owner.key);
    const erasing = parts.filter((part) => part.erase.length > 0);
    try {
      // What replaces a range is durable before the range goes, whatever else waits for its sync.
      if (this.context.durability !== "fsync") for (const part of erasing) await part.log.sync();
      for (const part of erasing) await part.log.erase(part.erase);
      await this.syncLogs(erasing.map((part) => part.log));
    } catch (error) {
      // The tombstones are durable: what was to be erased is not served, and the rewrite leaves it behind.
      return this.stop(error, "erase");
    }
    await this.enforceCaps(parts, changes);
    for (const { log } of parts) this.compactor.compactWhenWasteful(log);
    return undefined;
  }

  private async prepare(parts: readonly Part[]): Promise<void> {
    if (parts.some((part) => !part.log.isOurs())) this.foreign();
    if (parts.every((part) => part.log.exists)) return;
    await this.owner.ensureDirectory();
    for (const { log } of parts) if (!log.exists) await log.create();
  }

  private foreign(): never {
    this.context.log.warn({ owner: this.owner.key }, "an owner's log was changed by another process; reading it anew");
    this.owner.leave();
    throw new OwnerGone();
  }

  private async write(parts: readonly Part[], changes: readonly Change[]): Promise<unknown> {
    const done: Part[] = [];
    try {
      for (const part of parts) {
        const bytes = part.lines.length === 1 ? part.lines[0] : Buffer.concat(part.lines);
        try {
          await part.log.write(bytes);
        } catch (error) {
          if (!isDiskFull(error) || !changes.every((change) => change.frees) || !(await this.context.reserve.spend()))
            throw error;
          await part.log.write(bytes);
        }
        done.push(part);
      }
    } catch (error) {
      try {
        for (const part of done) await part.log.unwrite();
      } catch (unwriteError) {
        return this.stop(unwriteError, "unwrite");
      }
      return this.asFailure(error, "write");
    }
    return undefined;
  }

  /** What names itself was refused with nothing done; anything else stops the owner. */
  private asFailure(error: unknown, step: string): unknown {
    if (isDiskFull(error)) this.context.disk.isFull();
    const named = asStorageError(error);
    return named instanceof ReverieError || named instanceof OwnerGone ? named : this.stop(error, step);
  }

  private async syncLogs(logs: readonly Log[]): Promise<void> {
    const { durability, syncIntervalMs } = this.context;
    if (durability === "fsync") {
      if (logs.length === 1) return logs[0].sync();
      const ended = await Promise.allSettled(logs.map((log) => log.sync()));
      for (const one of ended) if (one.status === "rejected") throw one.reason;
    } else {
      for (const log of logs) this.unsynced.add(log);
      if (durability === "interval") this.syncTimer ??= setTimeout(() => void this.syncLater(), syncIntervalMs).unref();
    }
  }

  private async syncLater(): Promise<void> {
    this.syncTimer = undefined;
    if (this.closed) return;
    await this.exclusive(async () => {
      for (const log of this.unsynced) {
        this.unsynced.delete(log);
        try {
          await log.sync();
        } catch (error) {
          this.stop(error, "interval sync");
        }
      }
    }).catch(() => {
      // Gone, or stopped, which said so itself.
    });
  }

  private stop(error: unknown, step: string): ReverieError {
    const pauseMs = Math.min(LONGEST_RETRY_MS, this.stopped === undefined ? FIRST_RETRY_MS : this.stopped.pauseMs * 2);
    this.stopped = { error, retryAt: performance.now() + pauseMs, pauseMs };
    // Nobody may write for long, or at all while health says no.
    clearTimeout(this.retryTimer);
    if (!this.closed)
      this.retryTimer = setTimeout(() => void this.exclusive(async () => {}).catch(() => {}), pauseMs).unref();
    this.context.log.error(
      { owner: this.owner.key, step, code: errorCode(error) },
      "an owner's log stopped: it takes no writes until it is rewritten",
    );
    return this.stoppedError();
  }

  private stoppedError(): ReverieError {
    return new ReverieError(
      "LOG_STOPPED",
      "a write or sync of the owner's log failed and the log is being rewritten; nothing of this call was acknowledged: try again",
      {
        retryAfterMs: Math.ceil(Math.max(FIRST_RETRY_MS, (this.stopped?.retryAt ?? 0) - performance.now())),
        cause: this.stopped?.error,
      },
    );
  }

  /** Rewrites the logs from what is known to be durable. False when it is too early or fails again. */
  private async recover(atOnce = false): Promise<boolean> {
    if (this.stopped === undefined) return true;
    if (!atOnce && performance.now() < this.stopped.retryAt) return false;
    try {
      this.context.root.checkLock();
      const { floor } = this.owner;
      for (const log of this.owner.logs) if (log.exists) await this.compactor.recover(log, { floor });
    } catch (error) {
      this.stop(error, "recover");
      return false;
    }
    this.stopped = undefined;
    clearTimeout(this.retryTimer);
    this.context.log.info({ owner: this.owner.key }, "an owner's log was rewritten and takes writes again");
    return true;
  }

  private async enforceCaps(parts: readonly Part[], changes: readonly Change[]): Promise<void> {
    const { config } = this.owner.config;
    for (const { log } of parts) {
      const cap =
        log.kind === "episodic" ? config.maxEpisodicBytes : log.kind === "semantic" ? config.maxSemanticBytes : 0;
      if (cap === 0 || log.state.index.liveBytes <= cap) continue;
      const dropped = this.oldest(log, cap);
      if (dropped.size === 0) continue;
      try {
        await this.compactor.rewrite(log, {
          floor: this.owner.takeSeq(),
          dropped: dropped.size,
          keep: (i) => !dropped.has(i),
          switched: () => this.owner.settleSeq(),
        });
      } catch (error) {
        this.context.log.warn(
          { owner: this.owner.key, code: errorCode(error) },
          "a cap could not be enforced; the next write tries again",
        );
        continue;
      }
      this.context.changed(this.owner.key);
      this.context.counters.droppedByCaps += dropped.size;
      changes.findLast((change) => change instanceof AppendChange)?.dropped(dropped.size);
    }
  }

  /** The oldest entries whose going leaves about half of the cap; the newest always stays. */
  private oldest(log: Log, cap: number): Set<number> {
    const { index } = log.state;
    const order = index.byOrd();
    // As long as their copies in the rewritten log.
    const bytes = order.map((i) => index.length(i) + 1 + (index.isLegacy(i) ? reencodingBytes(index.ord(i)) : 0));
    const dropped = new Set<number>();
    let left = bytes.reduce((sum, one) => sum + one, 0);
    for (let at = 0; at < order.length - 1 && left > cap / 2; at++) {
      dropped.add(order[at]);
      left -= bytes[at];
    }
    return dropped;
  }
}
