import type { OwnerRef, StoredEntry } from "../store/store.js";
import type { MemoryContext } from "./context.js";
import { checkDraft, type EntryDraft } from "./entry.js";
import { checkOwner } from "./owner.js";

export interface Remembered {
  readonly entry: StoredEntry;
  /** The owner's seq. */
  readonly seq: number;
  /** An earlier call stored it; nothing was written. */
  readonly already: boolean;
  readonly droppedByCaps: number;
}

/** Stores one entry. Errors: those of its rules, KIND_NOT_ALLOWED, ENTRY_EXISTS, ENTRY_FORGOTTEN, those of the store. */
export async function remember(memory: MemoryContext, owner: OwnerRef, draft: EntryDraft): Promise<Remembered> {
  const { store, now } = memory;
  checkOwner(owner);
  const { config } = await store.config(owner);
  const { outcomes, seq, droppedByCaps } = await store.append(owner, [checkDraft(draft, config, now())]);
  if (droppedByCaps > 0) memory.onDroppedByCaps?.(droppedByCaps);
  const outcome = outcomes[0];
  if (outcome === undefined) throw new Error("the store answered no outcome");
  if (outcome.status === "refused") throw outcome.error;
  return { entry: outcome.entry, seq, already: outcome.status === "already", droppedByCaps };
}
