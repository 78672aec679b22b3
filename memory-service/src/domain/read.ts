import { ReverieError } from "@reverie/service-kit/errors";
import type {
  ExportSummary,
  GetResult,
  Kind,
  ListPage,
  OwnerRef,
  Position,
  RecallSummary,
  StoredEntry,
  WatchStep,
} from "../store/store.js";
import type { MemoryContext } from "./context.js";
import { namedKinds, readableKinds } from "./kinds.js";
import {
  clampCount,
  cutToBytes,
  DEFAULT_K,
  DEFAULT_PAGE_SIZE,
  MAX_ENTRY_ID_BYTES,
  MAX_K,
  MAX_PAGE_BYTES,
  MAX_PAGE_SIZE,
  WATCH_IDLE_MS,
} from "./limits.js";
import { checkOwner } from "./owner.js";
import { sealPosition, unsealPosition } from "./page-token.js";

export interface RecallRequest {
  /** "" matches every entry. */
  readonly text: string;
  /** None: all that the config allows. */
  readonly kinds: readonly Kind[];
  /** 0 means 20; above 200 means 200. */
  readonly k: number;
  /** Inclusive epoch milliseconds; undefined: no bound. */
  readonly since: number | undefined;
  readonly minSeq: number;
}

/** Finds entries, newest first, in batches of about 64 KiB; returns the summary. Errors: SEQ_NOT_REACHED. */
export async function* recall(
  { store }: MemoryContext,
  owner: OwnerRef,
  request: RecallRequest,
  signal: AbortSignal,
): AsyncGenerator<StoredEntry[], RecallSummary> {
  checkOwner(owner);
  const k = clampCount("k", request.k, DEFAULT_K, MAX_K);
  const kinds = readableKinds(request.kinds, (await store.config(owner)).config);
  const { text, since, minSeq } = request;
  return yield* store.recall(owner, { text, kinds, k, minSeq, ...(since === undefined ? {} : { since }) }, signal);
}

/** Reads the newest entry of an id, if its kind may be read. Errors: ENTRY_NOT_FOUND, ENTRY_CORRUPT, SEQ_NOT_REACHED. */
export async function getEntry(
  { store }: MemoryContext,
  owner: OwnerRef,
  id: string,
  minSeq: number,
): Promise<GetResult & { entry: StoredEntry }> {
  checkOwner(owner);
  const { config } = await store.config(owner);
  const { entry, copies, seq } = await store.get(owner, id, { minSeq });
  if (entry === undefined || !config.allowedKinds.includes(entry.kind)) {
    throw new ReverieError("ENTRY_NOT_FOUND", "the owner has no live entry of this id", {
      metadata: { id: cutToBytes(id, MAX_ENTRY_ID_BYTES) },
    });
  }
  return { entry, copies, seq };
}

export interface ListRequest {
  /** None: all that the config allows. */
  readonly kinds: readonly Kind[];
  readonly order: "newest" | "oldest";
  /** 0 means 100; above 500 means 500. */
  readonly pageSize: number;
  /** "" means the first page. */
  readonly pageToken: string;
  readonly minSeq: number;
}

export interface EntryPage {
  readonly entries: readonly StoredEntry[];
  /** "" on the last page. */
  readonly nextPageToken: string;
  readonly seq: number;
}

/** One page of an owner's entries. Errors: PAGE_TOKEN_INVALID, SEQ_NOT_REACHED. */
export async function listEntries({ store }: MemoryContext, owner: OwnerRef, request: ListRequest): Promise<EntryPage> {
  checkOwner(owner);
  const limit = clampCount("page_size", request.pageSize, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE);
  const { order, minSeq, pageToken } = request;
  const scope = { owner, kinds: request.kinds, order };
  const after = pageToken === "" ? undefined : unsealPosition(store.secret, scope, pageToken);
  const kinds = readableKinds(request.kinds, (await store.config(owner)).config);
  const position = after === undefined ? {} : { after };
  const page = withLongIds(
    await store.list(owner, { kinds, order, limit, maxBytes: MAX_PAGE_BYTES, minSeq, ...position }),
  );
  const nextPageToken = page.next === undefined ? "" : sealPosition(store.secret, scope, page.next);
  return { entries: page.entries, nextPageToken, seq: page.seq };
}

/** The store counts texts and metas; older ids may be long, too, and end a page earlier. */
function withLongIds(page: ListPage): ListPage {
  const { entries } = page;
  const overlong = (entry: StoredEntry): boolean => entry.id.length > MAX_ENTRY_ID_BYTES;
  if (!entries.some(overlong)) return page;
  let bytes = 0;
  const end = entries.findIndex(({ id, text, meta }, index) => {
    bytes += 3 * (id.length + text.length + meta.length);
    return index > 0 && bytes > MAX_PAGE_BYTES;
  });
  const last = entries[end - 1];
  if (last === undefined) return page;
  const next: Position = { ts: last.ts, ord: last.ord, kind: last.kind };
  return { entries: entries.slice(0, end), next, seq: page.seq };
}

export interface WatchRequest {
  /** None: all that the config allows. */
  readonly kinds: readonly Kind[];
  /** undefined: from the next change; 0: all live entries first; else after this seq. */
  readonly afterSeq: number | undefined;
}

/** Follows an owner's changes until the signal aborts. Errors: WATCH_CURSOR_EXPIRED, SEQ_NOT_REACHED. */
export async function* watch(
  { store }: MemoryContext,
  owner: OwnerRef,
  request: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<WatchStep, void> {
  checkOwner(owner);
  const kinds = readableKinds(request.kinds, (await store.config(owner)).config);
  const after = request.afterSeq === undefined ? {} : { afterSeq: request.afterSeq };
  yield* store.watch(owner, { kinds, idleMs: WATCH_IDLE_MS, ...after }, signal);
}

/** Live entries as JSONL bytes; returns the summary. No kind named: all, whatever the config allows. */
export async function* exportOwner(
  { store }: MemoryContext,
  owner: OwnerRef,
  kinds: readonly Kind[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, ExportSummary> {
  checkOwner(owner);
  return yield* store.export(owner, namedKinds(kinds), signal);
}
