import type { MessageInitShape } from "@bufbuild/protobuf";
import type { MethodImpl } from "@connectrpc/connect";
import type { MemoryService, WatchChange as WatchChangeMessage, WatchResponseSchema } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/read.js";
import type { WatchChange } from "../store/store.js";
import { entryMessage, idMessage, int64Of, kindCode, kindsOf, numberOf, ownerOf } from "./convert.js";
import { watchBatches } from "./watch-batches.js";

type Response = MessageInitShape<typeof WatchResponseSchema>;

function changeMessage(change: WatchChange): WatchChangeMessage {
  if ("upserted" in change) {
    return {
      $typeName: "reverie.memory.v1.WatchChange",
      change: { case: "upserted", value: entryMessage(change.upserted) },
    };
  }
  const { id, kind, seq } = change.deleted;
  return {
    $typeName: "reverie.memory.v1.WatchChange",
    change: {
      case: "deleted",
      value: {
        $typeName: "reverie.memory.v1.DeletedEntry",
        id: idMessage(id),
        kind: kindCode(kind),
        seq: int64Of(seq),
      },
    },
  };
}

export function watch(memory: MemoryContext): MethodImpl<typeof MemoryService.method.watch> {
  return async function* (request, context): AsyncGenerator<Response> {
    const query: domain.WatchRequest = {
      kinds: kindsOf("kinds", request.kinds),
      afterSeq: request.afterSeq === undefined ? undefined : numberOf("after_seq", request.afterSeq),
    };
    for await (const step of domain.watch(memory, ownerOf(request.owner), query, context.signal)) {
      if (step.changes.length === 0) yield { event: { case: "cursor", value: { seq: int64Of(step.cursor) } } };
      for (const { changes, cursor } of watchBatches(step)) {
        yield { event: { case: "batch", value: { changes: changes.map(changeMessage), cursor: int64Of(cursor) } } };
      }
    }
  };
}
