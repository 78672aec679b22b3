import type { ClearResult, ForgetResult, Kind, OwnerRef, PatchResult } from "../store/store.js";
import type { MemoryContext } from "./context.js";
import { namedKinds } from "./kinds.js";
import { fieldInvalid } from "./limits.js";
import { metaPatch } from "./meta.js";
import { checkOwner } from "./owner.js";

/** Erases every copy of an id, of any kind; none is no error. */
export async function forget({ store }: MemoryContext, owner: OwnerRef, id: string): Promise<ForgetResult> {
  checkOwner(owner);
  return store.forget(owner, id);
}

/** Erases all entries of the kinds named, or of all kinds when `all` says so and none is named. */
export async function clear(
  { store }: MemoryContext,
  owner: OwnerRef,
  kinds: readonly Kind[],
  all: boolean,
): Promise<ClearResult> {
  checkOwner(owner);
  if (all !== (kinds.length === 0)) {
    throw fieldInvalid("kinds", "name the kinds to clear, or set all: true to clear the whole owner (not both)");
  }
  return store.clear(owner, namedKinds(kinds));
}

/** Changes top-level keys of the meta of every copy of an id; none is no error. Errors: META_INVALID, FIELD_INVALID. */
export async function patchMeta(
  { store }: MemoryContext,
  owner: OwnerRef,
  id: string,
  patchJson: string,
  removeKeys: readonly string[],
): Promise<PatchResult> {
  checkOwner(owner);
  return store.patch(owner, id, metaPatch(patchJson, removeKeys));
}
