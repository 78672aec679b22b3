import { ReverieError } from "@reverie/service-kit/errors";
import type { OwnerRef, TrashRef } from "../store/store.js";
import type { MemoryContext } from "./context.js";
import { cutToBytes, fieldInvalid, fitsBytes } from "./limits.js";
import { checkOwner } from "./owner.js";

const REF_ID = /^[0-9a-f]{16}$/;
const MAX_REASON_BYTES = 1_024;

/** A ref id names a directory: nothing but its 16 digits reaches the store. */
function checkRef(owner: OwnerRef, refId: string): void {
  checkOwner(owner);
  if (REF_ID.test(refId)) return;
  throw new ReverieError("TRASH_NOT_FOUND", "this owner has no such ref in the trash; list the trash to see its refs", {
    metadata: { ref_id: cutToBytes(refId, 64) },
  });
}

/** Moves an owner's directory to the trash. */
export async function softDelete(
  { store }: MemoryContext,
  owner: OwnerRef,
  reason: string,
): Promise<{ ref: TrashRef; moved: boolean; seq: number }> {
  checkOwner(owner);
  if (!fitsBytes(reason, MAX_REASON_BYTES)) throw fieldInvalid("reason", `must be at most ${MAX_REASON_BYTES} bytes`);
  return store.softDelete(owner, reason);
}

/** Newest first; undefined: every owner's. */
export async function listTrash({ store }: MemoryContext, owner: OwnerRef | undefined): Promise<readonly TrashRef[]> {
  if (owner !== undefined) checkOwner(owner);
  return store.listTrash(owner);
}

/** Moves a directory back. Errors: TRASH_NOT_FOUND, TRASH_RESTORE_CONFLICT. */
export async function restore(
  { store }: MemoryContext,
  owner: OwnerRef,
  refId: string,
): Promise<{ entries: number; seq: number }> {
  checkRef(owner, refId);
  return store.restore(owner, refId);
}

/** Deletes a ref for good. Errors: TRASH_NOT_FOUND. */
export async function hardDelete(
  { store }: MemoryContext,
  owner: OwnerRef,
  refId: string,
): Promise<{ freedBytes: number }> {
  checkRef(owner, refId);
  return store.hardDelete(owner, refId);
}

/** Deletes for good what has expired. */
export async function sweepTrash(
  { store }: MemoryContext,
  dryRun: boolean,
): Promise<{ deleted: number; freedBytes: number }> {
  return store.sweepTrash(dryRun);
}
