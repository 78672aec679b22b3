import type { MethodImpl } from "@connectrpc/connect";
import type { MemoryService, RememberManyRequest } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import type { EntryDraft } from "../domain/entry.js";
import * as domain from "../domain/remember-many.js";
import { draftOf, int64Of, refusedMessage } from "./convert.js";
import { withOwner } from "./owned-stream.js";

const draftsOf = (request: RememberManyRequest): EntryDraft[] => request.entries.map(draftOf);

export function rememberMany(memory: MemoryContext): MethodImpl<typeof MemoryService.method.rememberMany> {
  return async (requests) => {
    const result = await withOwner(requests, draftsOf, (owner, batches) => domain.rememberMany(memory, owner, batches));
    return {
      stored: int64Of(result.stored),
      alreadyStored: int64Of(result.already),
      firstSeq: int64Of(result.firstSeq),
      lastSeq: int64Of(result.lastSeq),
      refused: result.refused.map(refusedMessage),
      stopped: result.stopped,
      received: int64Of(result.received),
      droppedByCaps: int64Of(result.droppedByCaps),
    };
  };
}
