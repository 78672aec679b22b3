import { ReverieError } from "@reverie/service-kit/errors";
import type * as store from "../store.js";
import type { Kind, MemoryStore, OwnerRef } from "../store.js";
import { KINDS } from "../store.js";
import { ChangeBell } from "./change-bell.js";
import { AppendChange, type Change, ForgetChange, PatchChange } from "./changes.js";
import { clearLogs } from "./clear.js";
import { exportLines } from "./export.js";
import { type Fs, realFs } from "./fs.js";
import { listPage } from "./list.js";
import { keyOf, OpenOwners } from "./open-owners.js";
import type { Owner } from "./owner.js";
import { formatOwnerConfig, ownerConfigPath, sameConfig } from "./owner-config.js";
import type { OwnerContext } from "./owner-context.js";
import { OwnerNames } from "./owner-names.js";
import { OwnerTrash } from "./owner-trash.js";
import { recall } from "./recall.js";
import { Reserve } from "./reserve.js";
import { Root } from "./root.js";
import { afterwards, asCallError, asHalfDone, DiskState } from "./storage-error.js";
import type { StoreLog } from "./store-log.js";
import { readEntry } from "./stored-entry.js";
import { Trash } from "./trash.js";
import { beginWatch, nextChanges, type WatchCursor } from "./watch.js";

export interface JsonlStoreOptions {
  /** The data directory; made when it isn't there. */
  readonly root: string;
  /** When an acknowledged write is on the disk. Default `fsync`: before it is acknowledged. */
  readonly durability?: store.Durability;
  /** With durability `interval`, the longest a write waits for its sync, milliseconds. Default 1,000. */
  readonly syncIntervalMs?: number;
  /** For owners without a config of their own. Default: all kinds, no caps. */
  readonly defaults?: store.OwnerConfig;
  /** How long the trash keeps what was soft-deleted, milliseconds. Default 30 days. */
  readonly trashRetentionMs?: number;
  /** Owners kept open, three descriptors each at most; the least recently used are closed beyond. Default 256. */
  readonly maxOpenOwners?: number;
  /** A log is compacted when more than this, and half of it, is waste, bytes. Default 65,536. */
  readonly compactMinBytes?: number;
  /** Disk space kept aside for forgetting on a full disk, bytes. Default 1 MiB. */
  readonly reserveBytes?: number;
  /** The file system. Default the real one; tests inject faults. */
  readonly fs?: Fs;
  /** Epoch milliseconds. Default `Date.now`. */
  readonly now?: () => number;
  /** Default: says nothing. */
  readonly log?: StoreLog;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const RESERVE_RETRY_MS = 30_000;

const silent: StoreLog = { info: () => {}, warn: () => {}, error: () => {} };

/** Opens a data directory, alone: fails with a `DataDirectoryError` where another process has it, or it is not ours. */
export async function openJsonlStore(options: JsonlStoreOptions): Promise<JsonlStore> {
  return JsonlStore.open(options);
}

export class JsonlStore implements MemoryStore {
  private readonly timers: NodeJS.Timeout[] = [];
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly root: Root,
    private readonly trash: OwnerTrash,
    private readonly context: OwnerContext,
    private readonly owners: OpenOwners,
    private readonly bell: ChangeBell,
  ) {}

  static async open(options: JsonlStoreOptions): Promise<JsonlStore> {
    const fs = options.fs ?? realFs;
    const log = options.log ?? silent;
    const root = await Root.open(fs, options.root, log);
    try {
      const trash = new Trash(fs, root.directories, root.path, options.trashRetentionMs ?? 30 * DAY_MS);
      await trash.open();
      const reserve = new Reserve(fs, `${root.path}/.reserve`, options.reserveBytes ?? 1024 * 1024, log);
      await reserve.fill();
      const bell = new ChangeBell();
      const context: OwnerContext = {
        root,
        reserve,
        log,
        disk: new DiskState(log),
        counters: { droppedByCaps: 0, compactions: 0, commits: 0 },
        names: new OwnerNames(fs, root.path),
        durability: options.durability ?? "fsync",
        syncIntervalMs: options.syncIntervalMs ?? 1000,
        defaults: options.defaults ?? { allowedKinds: KINDS, maxEpisodicBytes: 0, maxSemanticBytes: 0 },
        compactMinBytes: options.compactMinBytes ?? 64 * 1024,
        now: options.now ?? Date.now,
        changed: (key) => bell.ring(key),
      };
      const owners = new OpenOwners(context, options.maxOpenOwners ?? 256);
      const store = new JsonlStore(root, new OwnerTrash(trash, owners, context), context, owners, bell);
      store.startTimers();
      return store;
    } catch (error) {
      await root.close();
      throw error;
    }
  }

  /** What happened since the start. */
  get counters(): Readonly<OwnerContext["counters"]> {
    return this.context.counters;
  }
  get durability(): store.Durability {
    return this.context.durability;
  }
  get secret(): Uint8Array {
    return this.root.secret;
  }

  append(ref: OwnerRef, entries: readonly store.NewEntry[]): Promise<store.AppendResult> {
    return this.change(ref, () => new AppendChange(entries));
  }
  forget(ref: OwnerRef, id: string): Promise<store.ForgetResult> {
    return this.change(ref, () => new ForgetChange(id));
  }
  patch(ref: OwnerRef, id: string, patch: (meta: string) => string): Promise<store.PatchResult> {
    return this.change(ref, () => new PatchChange(id, patch));
  }
  async clear(ref: OwnerRef, kinds: readonly Kind[]): Promise<store.ClearResult> {
    // Counted across a second try: what the first one cleared stays cleared.
    let removed = 0;
    let changed = false;
    const cleared = (entries: number): void => {
      removed += entries;
      changed = true;
    };
    const turn = this.owners.freeingTurn(ref, async (owner) => {
      try {
        await clearLogs(owner, kinds, cleared);
      } finally {
        if (changed) this.bell.ring(owner.key);
      }
      return { removed, seq: owner.reportedSeq };
    });
    return turn.catch((error: unknown) => {
      throw changed ? asCallError(asHalfDone(error), this.context.log, keyOf(ref)) : error;
    });
  }

  recall(
    ref: OwnerRef,
    query: store.RecallQuery,
    signal: AbortSignal,
  ): AsyncGenerator<store.StoredEntry[], store.RecallSummary> {
    return this.stream(ref, query.minSeq, (owner) => recall(owner, query, signal));
  }

  get(ref: OwnerRef, id: string, { minSeq }: store.ReadOptions): Promise<store.GetResult> {
    return this.read(ref, minSeq, (owner) => {
      owner.lastAccessMs = this.context.now();
      const copies = owner.copies(id, true);
      const found = copies
        .map(({ log, i }) => (log.state.index.isLive(i) ? readEntry(log, i) : undefined))
        .filter((entry) => entry !== undefined);
      if (found.length === 0 && copies.length > 0) {
        throw new ReverieError(
          "ENTRY_CORRUPT",
          "the stored line fails its checksum and is not served: the operator looks at it and adopts it with `reverie check --adopt`, or forget the id",
          { metadata: { id } },
        );
      }
      const entry = found.sort((a, b) => b.ts - a.ts || b.ord - a.ord)[0];
      return { ...(entry && { entry }), copies: found.length, seq: owner.reportedSeq };
    });
  }

  list(ref: OwnerRef, query: store.ListQuery): Promise<store.ListPage> {
    return this.read(ref, query.minSeq, (owner) => {
      owner.lastAccessMs = this.context.now();
      return listPage(owner, query);
    });
  }

  async *watch(ref: OwnerRef, query: store.WatchQuery, signal: AbortSignal): AsyncGenerator<store.WatchStep, void> {
    const listener = this.bell.listen(keyOf(ref));
    let cursor: WatchCursor | undefined;
    let caughtUp = false;
    try {
      while (!signal.aborted) {
        const step = await this.read(ref, 0, (owner) => {
          cursor ??= beginWatch(owner, query);
          return nextChanges(owner, query.kinds, cursor);
        });
        if (step.changes.length > 0) {
          yield step;
          continue;
        }
        if (!caughtUp) yield step;
        caughtUp = true;
        while (!signal.aborted && !(await listener.wait(query.idleMs, signal))) if (!signal.aborted) yield step;
      }
    } finally {
      listener.close();
    }
  }

  export(ref: OwnerRef, kinds: readonly Kind[], signal: AbortSignal): AsyncGenerator<Uint8Array, store.ExportSummary> {
    return this.stream(ref, 0, (owner) => exportLines(owner, kinds, signal));
  }

  config(ref: OwnerRef): Promise<store.EffectiveConfig> {
    return this.read(ref, 0, (owner) => owner.config);
  }

  attach(ref: OwnerRef, config: store.OwnerConfig, replace: boolean): Promise<{ changed: boolean }> {
    return this.owners.turn(ref, async (owner) => {
      const present = owner.ownConfig;
      if (present !== undefined && sameConfig(present, config)) return { changed: false };
      if (present !== undefined && !replace) {
        throw new ReverieError(
          "CONFIG_EXISTS",
          "the owner has another config; send replace: true to change it, or the same one",
        );
      }
      await owner.ensureDirectory();
      await leavingOnFailure(owner, () =>
        this.root.directories.replaceFile(ownerConfigPath(owner.directory), formatOwnerConfig(config)),
      );
      owner.ownConfig = config;
      return { changed: true };
    });
  }

  detach(ref: OwnerRef): Promise<{ found: boolean }> {
    return this.owners.turn(ref, async (owner) => {
      if (owner.ownConfig === undefined) return { found: false };
      await leavingOnFailure(owner, async () => {
        await this.root.fs.unlink(ownerConfigPath(owner.directory));
        await afterwards(async () => {
          await this.root.directories.sync(owner.directory);
          owner.ownConfig = undefined;
          await owner.removeEmptyDirectory();
        });
      });
      return { found: true };
    });
  }

  describe(ref: OwnerRef, { minSeq }: store.ReadOptions): Promise<store.OwnerState> {
    return this.read(ref, minSeq, (owner) => owner.describe());
  }

  listOwners(kind: store.OwnerKind, afterId: string, limit: number): Promise<readonly store.OwnerSummary[]> {
    return this.named(() => this.ownersAfter(kind, afterId, limit));
  }

  private async ownersAfter(
    kind: store.OwnerKind,
    afterId: string,
    limit: number,
  ): Promise<readonly store.OwnerSummary[]> {
    const ids = (await this.context.names.list(kind)).filter((id) => id > afterId).slice(0, limit);
    return ids.map((id) => {
      const directory = `${this.root.path}/${kind}/${id}`;
      const size = (name: string): number => this.root.fs.lstatSync(`${directory}/${name}`)?.size ?? 0;
      return {
        owner: { kind, id },
        attached: this.root.fs.lstatSync(ownerConfigPath(directory)) !== undefined,
        diskBytes: KINDS.reduce((sum, log) => sum + size(`${log}.jsonl`), 0),
      };
    });
  }

  softDelete(ref: OwnerRef, reason: string): Promise<{ ref: store.TrashRef; moved: boolean; seq: number }> {
    return this.trash.softDelete(ref, reason);
  }
  listTrash(ref: OwnerRef | undefined): Promise<readonly store.TrashRef[]> {
    return this.named(() => this.trash.list(ref));
  }
  async restore(ref: OwnerRef, refId: string): Promise<{ entries: number; seq: number }> {
    await this.trash.restore(ref, refId);
    const read = (): Promise<{ entries: number; seq: number }> =>
      this.read(ref, 0, (owner) => ({ entries: owner.live, seq: owner.reportedSeq }));
    return this.named(() => afterwards(read));
  }
  hardDelete(ref: OwnerRef, refId: string): Promise<{ freedBytes: number }> {
    return this.named(() => this.trash.hardDelete(ref, refId));
  }
  sweepTrash(dryRun: boolean): Promise<{ deleted: number; freedBytes: number }> {
    return this.named(() => this.trash.sweep(dryRun));
  }

  health(): store.StoreHealth {
    const { stopped } = this.owners;
    const { full } = this.context.disk;
    const { lockLost } = this.root;
    const messages = [
      ...(stopped === 0
        ? []
        : [
            `${stopped} owner${stopped === 1 ? " takes" : "s take"} no writes after a failed write or sync; see the log`,
          ]),
      ...(full ? ["the disk or a quota is full"] : []),
      ...(lockLost
        ? ["the data directory's lock was removed: nothing is written before a new start; see the log"]
        : []),
    ];
    return {
      ok: stopped === 0 && !lockLost,
      durability: this.durability,
      stoppedOwners: stopped,
      diskFull: full,
      message: messages.join("; "),
    };
  }

  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  private async closeAll(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    try {
      await this.owners.close();
    } finally {
      await this.root.close();
    }
  }

  private startTimers(): void {
    const warning = (run: () => Promise<unknown>, message: string) => (): void => {
      run().catch((error: unknown) => this.context.log.warn({ err: error }, message));
    };
    const sweep = warning(() => this.sweepTrash(false), "the trash could not be swept");
    const lookForRoom = warning(() => this.lookForRoom(), "the data directory could not be looked at");
    this.timers.push(setInterval(sweep, HOUR_MS).unref(), setInterval(lookForRoom, RESERVE_RETRY_MS).unref());
    sweep();
  }

  private async lookForRoom(): Promise<void> {
    const { disk, reserve, root } = this.context;
    if (!root.holdsLock()) return;
    if (disk.full && (await reserve.hasRoom())) disk.works();
    await reserve.fill();
  }

  /** For what no owner's turn names the errors of. */
  private async named<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw asCallError(error, this.context.log);
    }
  }

  private change<T>(ref: OwnerRef, make: () => Change & { readonly promise: Promise<T> }): Promise<T> {
    return this.owners.use(ref, (owner) => {
      owner.lastAccessMs = this.context.now();
      const change = make();
      owner.writer.submit(change);
      return change.promise;
    });
  }

  /** The owner stays open until the answer ends. */
  private async *stream<T, R>(
    ref: OwnerRef,
    minSeq: number,
    answer: (owner: Owner) => AsyncGenerator<T, R>,
  ): AsyncGenerator<T, R> {
    const owner = await this.owners.acquire(ref);
    try {
      owner.checkMinSeq(minSeq);
      owner.lastAccessMs = this.context.now();
      return yield* answer(owner);
    } catch (error) {
      throw asCallError(error, this.context.log, owner.key);
    } finally {
      this.owners.release(owner);
    }
  }

  private read<T>(ref: OwnerRef, minSeq: number, read: (owner: Owner) => T): Promise<T> {
    return this.owners.use(ref, async (owner) => {
      owner.checkMinSeq(minSeq);
      return read(owner);
    });
  }
}

/** What the files hold is unknown then: the owner is read anew. */
async function leavingOnFailure(owner: Owner, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    owner.leave();
    throw error;
  }
}
