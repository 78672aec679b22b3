// What the domain asks of a backend. The JSONL files are one (`jsonl/`).
//
// Rules that every backend keeps: an acknowledged change is durable as configured;
// changes of one owner have one order, their seq; reads see whole changes only.

export const KINDS = ["episodic", "semantic", "working"] as const;
export type Kind = (typeof KINDS)[number];

export const OWNER_KINDS = ["agent", "workflow-run", "shared", "user", "org", "peer"] as const;
export type OwnerKind = (typeof OWNER_KINDS)[number];

export interface OwnerRef {
  readonly kind: OwnerKind;
  /** 1 to 255 bytes of UTF-8; a directory name. */
  readonly id: string;
}

export type Durability = "fsync" | "interval" | "none";

/** How an owner's memory is kept. */
export interface OwnerConfig {
  /** Never empty. */
  readonly allowedKinds: readonly Kind[];
  /** Most live bytes of episodic lines; 0 means no cap. */
  readonly maxEpisodicBytes: number;
  /** Most live bytes of semantic lines; 0 means no cap. */
  readonly maxSemanticBytes: number;
}

export interface EffectiveConfig {
  readonly config: OwnerConfig;
  /** The config is the owner's own, not the service's defaults. */
  readonly attached: boolean;
}

/** An entry to store. Its rules were checked by the domain. */
export interface NewEntry {
  /** Never empty: the domain makes one where the caller gave none. */
  readonly id: string;
  readonly kind: Kind;
  readonly text: string;
  /** Epoch milliseconds. */
  readonly ts: number;
  /** JSON object text without white space outside strings; "" means no meta. */
  readonly meta: string;
}

export interface StoredEntry extends NewEntry {
  /** 0 for an entry older than Reverie. */
  readonly seq: number;
  /** Decides ties of `ts`: the entry's first seq; far below 0 for older entries. */
  readonly ord: number;
}

export type AppendOutcome =
  | { readonly status: "stored" | "already"; readonly entry: StoredEntry }
  /** ENTRY_EXISTS or ENTRY_FORGOTTEN. */
  | { readonly status: "refused"; readonly error: Error };

export interface AppendResult {
  /** One an item, in their order. */
  readonly outcomes: readonly AppendOutcome[];
  /** The owner's seq. */
  readonly seq: number;
  readonly droppedByCaps: number;
}

export interface ReadOptions {
  /** Fail with SEQ_NOT_REACHED when the owner's seq is below. 0: no matter. */
  readonly minSeq: number;
}

export interface RecallQuery extends ReadOptions {
  /** As sent; the store folds it. "" matches every entry. */
  readonly text: string;
  /** May be empty: nothing is searched. */
  readonly kinds: readonly Kind[];
  /** 1 or more. */
  readonly k: number;
  /** Inclusive epoch milliseconds; undefined: no bound. */
  readonly since?: number;
}

export interface RecallSummary {
  readonly scanned: number;
  readonly matched: number;
  readonly returned: number;
  readonly truncated: boolean;
  readonly corruptLinesSkipped: number;
  readonly seq: number;
}

/** Where a page ended: the sort key of its last entry. */
export interface Position {
  readonly ts: number;
  readonly ord: number;
  readonly kind: Kind;
}

export interface ListQuery extends ReadOptions {
  readonly kinds: readonly Kind[];
  readonly order: "newest" | "oldest";
  /** Begin behind this one. */
  readonly after?: Position;
  /** 1 or more. */
  readonly limit: number;
  /** A page ends before the texts and metas of its entries pass this, but holds at least one entry. */
  readonly maxBytes: number;
}

export interface ListPage {
  readonly entries: readonly StoredEntry[];
  /** undefined on the last page. */
  readonly next?: Position;
  readonly seq: number;
}

export interface GetResult {
  /** The newest of that id. */
  readonly entry?: StoredEntry;
  readonly copies: number;
  readonly seq: number;
}

export interface ForgetResult {
  readonly copies: number;
  readonly seq: number;
}

export interface ClearResult {
  readonly removed: number;
  readonly seq: number;
}

export interface PatchResult {
  readonly copies: number;
  /** The newest copy as it is now; undefined when there is none. */
  readonly entry?: StoredEntry;
  readonly seq: number;
}

export interface WatchQuery {
  readonly kinds: readonly Kind[];
  /** undefined: from the next change; 0: all live entries first; else after this seq. */
  readonly afterSeq?: number;
  /** Yield an empty step after this much silence. */
  readonly idleMs: number;
}

export type WatchChange =
  | { readonly upserted: StoredEntry }
  | { readonly deleted: { readonly id: string; readonly kind: Kind; readonly seq: number } };

/** Changes in seq order, about 64 KiB at most; none when caught up or idle. */
export interface WatchStep {
  readonly changes: readonly WatchChange[];
  readonly cursor: number;
}

export interface ExportSummary {
  readonly entries: number;
  readonly bytes: number;
  readonly seq: number;
  readonly corruptLinesSkipped: number;
}

export interface KindState {
  readonly kind: Kind;
  readonly entries: number;
  readonly liveBytes: number;
  readonly diskBytes: number;
}

export interface OwnerState {
  readonly exists: boolean;
  readonly kinds: readonly KindState[];
  readonly lastAccessMs: number;
  readonly corruptLines: number;
  readonly tornTails: number;
  readonly droppedByCaps: number;
  readonly seq: number;
  readonly floor: number;
  readonly writable: boolean;
  readonly effective: EffectiveConfig;
}

export interface OwnerSummary {
  readonly owner: OwnerRef;
  readonly attached: boolean;
  readonly diskBytes: number;
}

export interface TrashRef {
  readonly refId: string;
  readonly owner: OwnerRef;
  readonly deletedAt: number;
  readonly expiresAt: number;
  readonly reason: string;
  readonly hasPayload: boolean;
}

export interface StoreHealth {
  /** False while an owner's log is stopped. A full disk takes neither reads nor forgetting away. */
  readonly ok: boolean;
  readonly durability: Durability;
  readonly stoppedOwners: number;
  /** The last write found no room. */
  readonly diskFull: boolean;
  /** For people; "" when all is well. */
  readonly message: string;
}

/** Errors are `ReverieError`s of the reasons named; an owner that doesn't exist reads as empty. */
export interface MemoryStore {
  readonly durability: Durability;
  /** 32 bytes that the data directory owns: keys page tokens. */
  readonly secret: Uint8Array;

  /** All items in one order, one acknowledgement. LOG_STOPPED, DISK_FULL, OWNER_*: nothing was stored. */
  append(owner: OwnerRef, entries: readonly NewEntry[]): Promise<AppendResult>;
  /** Batches of about 64 KiB, newest first; returns the summary. */
  recall(owner: OwnerRef, query: RecallQuery, signal: AbortSignal): AsyncGenerator<StoredEntry[], RecallSummary>;
  /** ENTRY_CORRUPT when only a damaged line has the id. */
  get(owner: OwnerRef, id: string, options: ReadOptions): Promise<GetResult>;
  list(owner: OwnerRef, query: ListQuery): Promise<ListPage>;
  forget(owner: OwnerRef, id: string): Promise<ForgetResult>;
  clear(owner: OwnerRef, kinds: readonly Kind[]): Promise<ClearResult>;
  /** `patch` maps the stored meta text to the new one, or throws to refuse; it runs in the owner's order. */
  patch(owner: OwnerRef, id: string, patch: (meta: string) => string): Promise<PatchResult>;
  /** Never ends by itself. WATCH_CURSOR_EXPIRED, SEQ_NOT_REACHED. */
  watch(owner: OwnerRef, query: WatchQuery, signal: AbortSignal): AsyncGenerator<WatchStep, void>;
  /** JSONL bytes as `ExportOwnerResponse.lines` describes. */
  export(owner: OwnerRef, kinds: readonly Kind[], signal: AbortSignal): AsyncGenerator<Uint8Array, ExportSummary>;

  config(owner: OwnerRef): Promise<EffectiveConfig>;
  /** CONFIG_EXISTS when another one is stored and `replace` is false. */
  attach(owner: OwnerRef, config: OwnerConfig, replace: boolean): Promise<{ changed: boolean }>;
  detach(owner: OwnerRef): Promise<{ found: boolean }>;
  describe(owner: OwnerRef, options: ReadOptions): Promise<OwnerState>;
  /** By id in code unit order, after `afterId`. */
  listOwners(kind: OwnerKind, afterId: string, limit: number): Promise<readonly OwnerSummary[]>;

  softDelete(owner: OwnerRef, reason: string): Promise<{ ref: TrashRef; moved: boolean; seq: number }>;
  /** Newest first; undefined: every owner's. */
  listTrash(owner: OwnerRef | undefined): Promise<readonly TrashRef[]>;
  /** TRASH_NOT_FOUND, TRASH_RESTORE_CONFLICT. */
  restore(owner: OwnerRef, refId: string): Promise<{ entries: number; seq: number }>;
  hardDelete(owner: OwnerRef, refId: string): Promise<{ freedBytes: number }>;
  sweepTrash(dryRun: boolean): Promise<{ deleted: number; freedBytes: number }>;

  health(): StoreHealth;
  /** Finishes what was queued, then closes. May be called twice. */
  close(): Promise<void>;
}
