import type { MethodImpl } from "@connectrpc/connect";
import type { OwnerService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/owners.js";
import { int64Of, ownerKindOf, ownerMessage } from "./convert.js";

export function listOwners(memory: MemoryContext): MethodImpl<typeof OwnerService.method.listOwners> {
  return async (request) => {
    const kind = ownerKindOf("kind", request.kind);
    const page = await domain.listOwners(memory, kind, request.pageSize, request.pageToken);
    const owners = page.owners.map(({ owner, attached, diskBytes }) => ({
      owner: ownerMessage(owner),
      attached,
      diskBytes: int64Of(diskBytes),
    }));
    return { owners, nextPageToken: page.nextPageToken };
  };
}
