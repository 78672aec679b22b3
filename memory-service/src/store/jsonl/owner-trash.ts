import { ReverieError } from "@reverie/service-kit/errors";
import type { OwnerRef, TrashRef } from "../store.js";
import { errorCode } from "./fs.js";
import type { OpenOwners } from "./open-owners.js";
import type { OwnerContext } from "./owner-context.js";
import { restorePayload } from "./restore.js";
import { moveToTrash } from "./soft-delete.js";
import { afterwards } from "./storage-error.js";
import type { Trash, TrashItem } from "./trash.js";

/** Moves owners to the trash and back, each in a turn of the owner, so that no change is beside it. */
export class OwnerTrash {
  constructor(
    private readonly trash: Trash,
    private readonly owners: OpenOwners,
    private readonly context: OwnerContext,
  ) {}

  softDelete(ref: OwnerRef, reason: string): Promise<{ ref: TrashRef; moved: boolean; seq: number }> {
    return this.owners.freeingTurn(ref, async (owner) => {
      const left = (): void => this.owners.drop(owner);
      const { item, moved, seq } = await moveToTrash(owner, this.trash, this.context.root, {
        now: this.context.now(),
        reason,
        left,
      });
      return { ref: publicRef(item), moved, seq };
    });
  }

  async list(ref: OwnerRef | undefined): Promise<readonly TrashRef[]> {
    return (await this.trash.list(ref)).map(publicRef);
  }

  async restore(ref: OwnerRef, refId: string): Promise<void> {
    await this.owners.turn(ref, async (owner) => {
      const item = await this.trash.find(ref, refId);
      if (item.hasPayload) {
        await this.context.names.checkTwin(ref);
        const { fs, directories } = this.context.root;
        let isThere = false;
        const renamed = (): void => {
          isThere = true;
        };
        try {
          await restorePayload(owner, item, this.context.root, { fs, directories, now: this.context.now, renamed });
          // Before others may use the owner: a soft delete would be given this very ref.
          await afterwards(() => this.trash.forget(item));
        } catch (error) {
          // Some of its files may be in the payload by now: it is read anew.
          if (!(error instanceof ReverieError)) owner.leave();
          throw error;
        } finally {
          if (isThere) this.owners.drop(owner);
        }
      } else await this.trash.forget(item);
    });
  }

  hardDelete(ref: OwnerRef, refId: string): Promise<{ freedBytes: number }> {
    return this.trashTurn(ref, async () => {
      const ended = await this.trash.endRemoval(ref, refId);
      // The same ref may have been given to a later soft delete of that day.
      const item = await this.trash.find(ref, refId).catch((error: unknown) => {
        if (ended === undefined || !(error instanceof ReverieError) || error.reason !== "TRASH_NOT_FOUND") throw error;
      });
      return { freedBytes: (ended ?? 0) + (item === undefined ? 0 : await this.trash.remove(item)) };
    });
  }

  async sweep(dryRun: boolean): Promise<{ deleted: number; freedBytes: number }> {
    if (!dryRun) this.context.root.checkLock();
    let deleted = 0;
    // What was renamed away, and then failed, isn't listed any more.
    let freedBytes = dryRun ? 0 : await this.trash.endRemovals();
    for (const item of await this.trash.list(undefined)) {
      if (item.expiresAt > this.context.now()) continue;
      try {
        freedBytes += dryRun ? await this.context.root.directories.size(item.payload) : await this.deleteExpired(item);
        deleted++;
      } catch (error) {
        this.context.log.warn(
          { ref: item.refId, code: errorCode(error) },
          "something in the trash could not be deleted",
        );
      }
    }
    return { deleted, freedBytes };
  }

  private deleteExpired(item: TrashItem): Promise<number> {
    return this.trashTurn(item.owner, async () => {
      // It may have been restored since it was listed.
      const still = (await this.trash.list(item.owner)).find(({ refId }) => refId === item.refId);
      return still === undefined ? 0 : this.trash.remove(still);
    });
  }

  /** A turn of the owner; where its live files can't be opened, nobody else has one. */
  private async trashTurn<T>(ref: OwnerRef, run: () => Promise<T>): Promise<T> {
    try {
      return await this.owners.turn(ref, run);
    } catch (error) {
      const cannotOpen = ["CONFIG_UNREADABLE", "OWNER_PATH_UNSAFE", "OWNER_ID_INVALID"];
      if (error instanceof ReverieError && cannotOpen.includes(error.reason)) {
        this.context.root.checkLock();
        return run();
      }
      throw error;
    }
  }
}

function publicRef({ refId, owner, deletedAt, expiresAt, reason, hasPayload }: TrashItem): TrashRef {
  return { refId, owner, deletedAt, expiresAt, reason, hasPayload };
}
