import type { MethodImpl } from "@connectrpc/connect";
import { ListOrder, type MemoryService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/read.js";
import { entryMessage, int64Of, kindsOf, numberOf, ownerOf } from "./convert.js";

export function listEntries(memory: MemoryContext): MethodImpl<typeof MemoryService.method.listEntries> {
  return async (request) => {
    const page = await domain.listEntries(memory, ownerOf(request.owner), {
      kinds: kindsOf("kinds", request.kinds),
      order: request.order === ListOrder.OLDEST_FIRST ? "oldest" : "newest",
      pageSize: request.pageSize,
      pageToken: request.pageToken,
      minSeq: numberOf("min_seq", request.minSeq),
    });
    return { entries: page.entries.map(entryMessage), nextPageToken: page.nextPageToken, seq: int64Of(page.seq) };
  };
}
