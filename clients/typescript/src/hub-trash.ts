import type { TrashRef as ProtoRef } from "@reverie/proto/memory";
import type { Deps } from "./deps.js";
import { callOptions, readWhole } from "./deps.js";
import { ReverieError, TrashRestoreConflictError } from "./errors.js";
import type { OwnerKind } from "./kinds.js";
import type { Owner } from "./owner.js";
import { fromProtoOwner, toProtoOwner } from "./owner.js";

/** Something in the trash, in the shape that hubs store and route by. */
export interface HubTrashRef {
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly type: "memory";
  readonly impl: "file";
  readonly ownerKind: OwnerKind;
  readonly ownerId: string;
  /** Milliseconds since the Unix epoch. */
  readonly deletedAt: number;
  /** When it may be gone for good, milliseconds since the Unix epoch. */
  readonly expiresAt: number;
  readonly reason?: string;
}

/** What names a ref; a whole one will do. */
export type HubTrashKey = Pick<HubTrashRef, "id" | "ownerKind" | "ownerId">;

/** The trash as hubs know it. Every method has the client's deadline. */
export interface HubTrash {
  /** Moves the owner to the trash, also one that never stored anything. reason: at most 1 KiB. */
  softDelete(owner: Owner | string, reason?: string): Promise<HubTrashRef>;
  /** Throws TrashRestoreConflictError when the owner is live again; ReverieError TRASH_NOT_FOUND when there is no such ref. */
  restore(ref: HubTrashKey): Promise<void>;
  /** Deletes for good. Throws ReverieError TRASH_NOT_FOUND. */
  hardDelete(ref: HubTrashKey): Promise<void>;
  /** Newest first; without an owner everybody's. */
  list(owner?: Owner | string): Promise<HubTrashRef[]>;
}

export function createHubTrash(deps: Deps): HubTrash {
  const keyOf = ({ id, ownerKind, ownerId }: HubTrashKey) => ({
    owner: toProtoOwner({ kind: ownerKind, id: ownerId }),
    refId: id,
  });
  return {
    async softDelete(owner, reason = "") {
      const { ref } = await deps.trash.softDelete({ owner: toProtoOwner(owner), reason });
      if (ref === undefined) {
        throw new ReverieError("INTERNAL", "RESPONSE_INVALID", "The server's answer lacks the trash ref. Report this.");
      }
      return toHubRef(ref);
    },
    async restore(ref) {
      try {
        await deps.trash.restore(keyOf(ref));
      } catch (cause) {
        if (cause instanceof ReverieError && cause.reason === "TRASH_RESTORE_CONFLICT") {
          throw new TrashRestoreConflictError(cause.message, { cause });
        }
        throw cause;
      }
    },
    async hardDelete(ref) {
      await deps.trash.hardDelete(keyOf(ref));
    },
    async list(owner) {
      const request = owner === undefined ? {} : { owner: toProtoOwner(owner) };
      return readWhole(
        deps.timeoutMs,
        (timeoutMs) => deps.trash.listTrash(request, callOptions({ timeoutMs })),
        () => [] as HubTrashRef[],
        (all, { refs }) => {
          for (const ref of refs) all.push(toHubRef(ref));
        },
        () => {},
      );
    },
  };
}

function toHubRef(ref: ProtoRef): HubTrashRef {
  const { kind, id } = fromProtoOwner(ref.owner);
  return {
    id: ref.refId,
    type: "memory",
    impl: "file",
    ownerKind: kind,
    ownerId: id,
    deletedAt: Number(ref.deletedAtMs),
    expiresAt: Number(ref.expiresAtMs),
    ...(ref.reason !== "" && { reason: ref.reason }),
  };
}
