import type { MethodImpl } from "@connectrpc/connect";
import type { MemoryService } from "@reverie/proto/memory";
import * as domain from "../domain/change.js";
import type { MemoryContext } from "../domain/context.js";
import { int64Of, kindsOf, ownerOf } from "./convert.js";

export function clear(memory: MemoryContext): MethodImpl<typeof MemoryService.method.clear> {
  return async (request) => {
    const kinds = kindsOf("kinds", request.kinds);
    const { removed, seq } = await domain.clear(memory, ownerOf(request.owner), kinds, request.all);
    return { removed: int64Of(removed), seq: int64Of(seq) };
  };
}
