import {
  KINDS,
  type OwnerConfig,
  type OwnerKind,
  type OwnerRef,
  type OwnerState,
  type OwnerSummary,
} from "../store/store.js";
import type { MemoryContext } from "./context.js";
import { namedKinds } from "./kinds.js";
import { clampCount, DEFAULT_PAGE_SIZE, fieldInvalid, MAX_PAGE_SIZE } from "./limits.js";
import { checkOwner } from "./owner.js";
import { sealOwnerId, unsealOwnerId } from "./page-token.js";
import { previewOwner } from "./preview.js";

function checkedConfig(config: OwnerConfig): OwnerConfig {
  const { maxEpisodicBytes, maxSemanticBytes } = config;
  for (const [field, cap] of Object.entries({
    max_episodic_bytes: maxEpisodicBytes,
    max_semantic_bytes: maxSemanticBytes,
  })) {
    if (!Number.isSafeInteger(cap) || cap < 0) throw fieldInvalid(`config.${field}`, "must be 0 (no cap) to 2^53 - 1");
  }
  return { allowedKinds: namedKinds(config.allowedKinds), maxEpisodicBytes, maxSemanticBytes };
}

/**
 * Stores an owner's config; undefined stores the service's defaults as they are now. No allowed kind named: all.
 * Errors: CONFIG_EXISTS when another config is stored and `replace` is false.
 */
export async function attach(
  { store, defaults }: MemoryContext,
  owner: OwnerRef,
  config: OwnerConfig | undefined,
  replace: boolean,
): Promise<{ config: OwnerConfig; changed: boolean }> {
  checkOwner(owner);
  const checked = checkedConfig(config ?? defaults);
  const { changed } = await store.attach(owner, checked, replace);
  return { config: checked, changed };
}

/** Removes an owner's config; the service's defaults are in force then. */
export async function detach({ store }: MemoryContext, owner: OwnerRef): Promise<{ found: boolean }> {
  checkOwner(owner);
  return store.detach(owner);
}

export interface Description {
  readonly state: OwnerState;
  /** "" when not asked for. */
  readonly preview: string;
}

/** What an owner holds; all zero when it doesn't exist. Errors: SEQ_NOT_REACHED. */
export async function describe(
  { store }: MemoryContext,
  owner: OwnerRef,
  request: { readonly minSeq: number; readonly preview: boolean },
): Promise<Description> {
  checkOwner(owner);
  const state = await store.describe(owner, { minSeq: request.minSeq });
  if (!request.preview || !state.exists) return { state, preview: "" };
  const kinds = KINDS.filter((kind) => state.effective.config.allowedKinds.includes(kind));
  return { state, preview: await previewOwner(store, owner, kinds) };
}

export interface OwnerPage {
  readonly owners: readonly OwnerSummary[];
  /** "" on the last page. */
  readonly nextPageToken: string;
}

/** One page of the owners of a kind that have a directory, by id. Errors: PAGE_TOKEN_INVALID. */
export async function listOwners(
  { store }: MemoryContext,
  kind: OwnerKind,
  pageSize: number,
  pageToken: string,
): Promise<OwnerPage> {
  const limit = clampCount("page_size", pageSize, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE);
  const after = pageToken === "" ? "" : unsealOwnerId(store.secret, kind, pageToken);
  // One more than asked for tells whether another page follows.
  const found = await store.listOwners(kind, after, limit + 1);
  const owners = found.slice(0, limit);
  const last = found.length > limit ? owners.at(-1) : undefined;
  return { owners, nextPageToken: last === undefined ? "" : sealOwnerId(store.secret, kind, last.owner.id) };
}
