import type { MethodImpl } from "@connectrpc/connect";
import type { MemoryService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/read.js";
import { entryMessage, int64Of, numberOf, ownerOf } from "./convert.js";

export function getEntry(memory: MemoryContext): MethodImpl<typeof MemoryService.method.getEntry> {
  return async (request) => {
    const minSeq = numberOf("min_seq", request.minSeq);
    const { entry, copies, seq } = await domain.getEntry(memory, ownerOf(request.owner), request.id, minSeq);
    return { entry: entryMessage(entry), copies, seq: int64Of(seq) };
  };
}
