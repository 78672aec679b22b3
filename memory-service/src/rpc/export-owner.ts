import type { MessageInitShape } from "@bufbuild/protobuf";
import type { MethodImpl } from "@connectrpc/connect";
import type { ExportOwnerResponseSchema, MemoryService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/read.js";
import { int64Of, kindsOf, ownerOf } from "./convert.js";

type Response = MessageInitShape<typeof ExportOwnerResponseSchema>;

/** Whatever chunks the store gives, a message stays far below its limit. */
const MAX_CHUNK_BYTES = 1_048_576;

export function exportOwner(memory: MemoryContext): MethodImpl<typeof MemoryService.method.exportOwner> {
  return async function* (request, context): AsyncGenerator<Response> {
    const kinds = kindsOf("kinds", request.kinds);
    const chunks = domain.exportOwner(memory, ownerOf(request.owner), kinds, context.signal);
    try {
      for (;;) {
        const step = await chunks.next();
        if (step.done === true) {
          const { entries, bytes, seq, corruptLinesSkipped } = step.value;
          yield {
            event: {
              case: "summary",
              value: {
                entries: int64Of(entries),
                bytes: int64Of(bytes),
                seq: int64Of(seq),
                corruptLinesSkipped: int64Of(corruptLinesSkipped),
              },
            },
          };
          return;
        }
        for (let start = 0; start < step.value.length; start += MAX_CHUNK_BYTES) {
          yield { event: { case: "lines", value: step.value.subarray(start, start + MAX_CHUNK_BYTES) } };
        }
      }
    } finally {
      await chunks.return(undefined as never);
    }
  };
}
