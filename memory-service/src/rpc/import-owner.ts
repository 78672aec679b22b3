import type { MethodImpl } from "@connectrpc/connect";
import type { ImportOwnerRequest, MemoryService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/import-owner.js";
import { int64Of, refusedMessage } from "./convert.js";
import { withOwner } from "./owned-stream.js";

const linesOf = (request: ImportOwnerRequest): Uint8Array => request.lines;

export function importOwner(memory: MemoryContext): MethodImpl<typeof MemoryService.method.importOwner> {
  return async (requests) => {
    const result = await withOwner(requests, linesOf, (owner, chunks) => domain.importOwner(memory, owner, chunks));
    return {
      stored: int64Of(result.stored),
      alreadyStored: int64Of(result.already),
      refused: int64Of(result.refused.length),
      refusedItems: result.refused.map(refusedMessage),
      skippedLines: int64Of(result.skippedLines),
      firstSeq: int64Of(result.firstSeq),
      lastSeq: int64Of(result.lastSeq),
      droppedByCaps: int64Of(result.droppedByCaps),
      stopped: result.stopped,
    };
  };
}
