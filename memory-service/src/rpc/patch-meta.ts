import type { MethodImpl } from "@connectrpc/connect";
import type { MemoryService } from "@reverie/proto/memory";
import * as domain from "../domain/change.js";
import type { MemoryContext } from "../domain/context.js";
import { entryMessage, int64Of, ownerOf } from "./convert.js";

export function patchMeta(memory: MemoryContext): MethodImpl<typeof MemoryService.method.patchMeta> {
  return async ({ owner, id, patchJson, removeKeys }) => {
    const { copies, entry, seq } = await domain.patchMeta(memory, ownerOf(owner), id, patchJson, removeKeys);
    return {
      found: copies > 0,
      copies,
      seq: int64Of(seq),
      ...(entry === undefined ? {} : { entry: entryMessage(entry) }),
    };
  };
}
