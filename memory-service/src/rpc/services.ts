import type { ServiceImpl } from "@connectrpc/connect";
import type { MemoryService, OwnerService, TrashService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import { attach } from "./attach.js";
import { clear } from "./clear.js";
import { describe } from "./describe.js";
import { detach } from "./detach.js";
import { exportOwner } from "./export-owner.js";
import { forget } from "./forget.js";
import { getEntry } from "./get-entry.js";
import { hardDelete } from "./hard-delete.js";
import { importOwner } from "./import-owner.js";
import { listEntries } from "./list-entries.js";
import { listOwners } from "./list-owners.js";
import { listTrash } from "./list-trash.js";
import { patchMeta } from "./patch-meta.js";
import { recall } from "./recall.js";
import { remember } from "./remember.js";
import { rememberMany } from "./remember-many.js";
import { restore } from "./restore.js";
import { softDelete } from "./soft-delete.js";
import { sweepTrash } from "./sweep-trash.js";
import { watch } from "./watch.js";

export function memoryService(memory: MemoryContext): ServiceImpl<typeof MemoryService> {
  return {
    remember: remember(memory),
    rememberMany: rememberMany(memory),
    recall: recall(memory),
    getEntry: getEntry(memory),
    listEntries: listEntries(memory),
    forget: forget(memory),
    clear: clear(memory),
    patchMeta: patchMeta(memory),
    watch: watch(memory),
    exportOwner: exportOwner(memory),
    importOwner: importOwner(memory),
  };
}

export function ownerService(memory: MemoryContext): ServiceImpl<typeof OwnerService> {
  return {
    attach: attach(memory),
    detach: detach(memory),
    describe: describe(memory),
    listOwners: listOwners(memory),
  };
}

export function trashService(memory: MemoryContext): ServiceImpl<typeof TrashService> {
  return {
    softDelete: softDelete(memory),
    listTrash: listTrash(memory),
    restore: restore(memory),
    hardDelete: hardDelete(memory),
    sweepTrash: sweepTrash(memory),
  };
}
