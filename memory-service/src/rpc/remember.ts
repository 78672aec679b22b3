import type { MethodImpl } from "@connectrpc/connect";
import type { MemoryService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import { fieldInvalid } from "../domain/limits.js";
import * as domain from "../domain/remember.js";
import { draftOf, entryMessage, int64Of, ownerOf } from "./convert.js";

export function remember(memory: MemoryContext): MethodImpl<typeof MemoryService.method.remember> {
  return async (request) => {
    if (request.entry === undefined) throw fieldInvalid("entry", "is required");
    const { entry, seq, already, droppedByCaps } = await domain.remember(
      memory,
      ownerOf(request.owner),
      draftOf(request.entry),
    );
    return {
      entry: entryMessage(entry),
      seq: int64Of(seq),
      alreadyStored: already,
      droppedByCaps: int64Of(droppedByCaps),
    };
  };
}
