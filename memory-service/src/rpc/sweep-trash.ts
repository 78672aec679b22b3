import type { MethodImpl } from "@connectrpc/connect";
import type { TrashService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/trash.js";
import { int64Of } from "./convert.js";

export function sweepTrash(memory: MemoryContext): MethodImpl<typeof TrashService.method.sweepTrash> {
  return async (request) => {
    const { deleted, freedBytes } = await domain.sweepTrash(memory, request.dryRun);
    return { deleted: int64Of(deleted), freedBytes: int64Of(freedBytes) };
  };
}
