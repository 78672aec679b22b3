import type { MessageInitShape } from "@bufbuild/protobuf";
import type { MethodImpl } from "@connectrpc/connect";
import type { MemoryService, RecallResponseSchema } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/read.js";
import type { StoredEntry } from "../store/store.js";
import { batchEnds } from "./batch-ends.js";
import { entryMessage, int64Of, kindsOf, numberOf, ownerOf } from "./convert.js";

type Response = MessageInitShape<typeof RecallResponseSchema>;

const textsOf = ({ id, text, meta }: StoredEntry): string[] => [id, text, meta];

export function recall(memory: MemoryContext): MethodImpl<typeof MemoryService.method.recall> {
  return async function* (request, context): AsyncGenerator<Response> {
    const query: domain.RecallRequest = {
      text: request.text,
      kinds: kindsOf("kinds", request.kinds),
      k: request.k,
      since: request.sinceMs === 0n ? undefined : numberOf("since_ms", request.sinceMs),
      minSeq: numberOf("min_seq", request.minSeq),
    };
    const found = domain.recall(memory, ownerOf(request.owner), query, context.signal);
    try {
      for (;;) {
        const step = await found.next();
        if (step.done === true) {
          const summary = step.value;
          yield {
            event: {
              case: "summary",
              value: {
                scanned: int64Of(summary.scanned),
                matched: int64Of(summary.matched),
                returned: int64Of(summary.returned),
                truncated: summary.truncated,
                corruptLinesSkipped: int64Of(summary.corruptLinesSkipped),
                seq: int64Of(summary.seq),
              },
            },
          };
          return;
        }
        let first = 0;
        for (const end of batchEnds(step.value, textsOf)) {
          yield { event: { case: "batch", value: { entries: step.value.slice(first, end).map(entryMessage) } } };
          first = end;
        }
      }
    } finally {
      await found.return(undefined as never);
    }
  };
}
