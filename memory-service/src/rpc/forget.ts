import type { MethodImpl } from "@connectrpc/connect";
import type { MemoryService } from "@reverie/proto/memory";
import * as domain from "../domain/change.js";
import type { MemoryContext } from "../domain/context.js";
import { int64Of, ownerOf } from "./convert.js";

export function forget(memory: MemoryContext): MethodImpl<typeof MemoryService.method.forget> {
  return async (request) => {
    const { copies, seq } = await domain.forget(memory, ownerOf(request.owner), request.id);
    return { found: copies > 0, copies, seq: int64Of(seq) };
  };
}
