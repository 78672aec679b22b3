import type { MethodImpl } from "@connectrpc/connect";
import type { TrashService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/trash.js";
import { int64Of, ownerOf } from "./convert.js";

export function hardDelete(memory: MemoryContext): MethodImpl<typeof TrashService.method.hardDelete> {
  return async (request) => {
    const { freedBytes } = await domain.hardDelete(memory, ownerOf(request.owner), request.refId);
    return { freedBytes: int64Of(freedBytes) };
  };
}
