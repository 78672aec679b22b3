import type { MethodImpl } from "@connectrpc/connect";
import type { TrashService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/trash.js";
import { int64Of, ownerOf, trashRefMessage } from "./convert.js";

export function softDelete(memory: MemoryContext): MethodImpl<typeof TrashService.method.softDelete> {
  return async (request) => {
    const { ref, moved, seq } = await domain.softDelete(memory, ownerOf(request.owner), request.reason);
    return { ref: trashRefMessage(ref), moved, seq: int64Of(seq) };
  };
}
