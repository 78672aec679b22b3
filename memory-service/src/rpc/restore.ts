import type { MethodImpl } from "@connectrpc/connect";
import type { TrashService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/trash.js";
import { int64Of, ownerOf } from "./convert.js";

export function restore(memory: MemoryContext): MethodImpl<typeof TrashService.method.restore> {
  return async (request) => {
    const { entries, seq } = await domain.restore(memory, ownerOf(request.owner), request.refId);
    return { entries: int64Of(entries), seq: int64Of(seq) };
  };
}
