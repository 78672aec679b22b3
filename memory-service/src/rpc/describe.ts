import type { MethodImpl } from "@connectrpc/connect";
import type { OwnerService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/owners.js";
import { configMessage, int64Of, kindCode, numberOf, ownerMessage, ownerOf } from "./convert.js";

export function describe(memory: MemoryContext): MethodImpl<typeof OwnerService.method.describe> {
  return async (request) => {
    const owner = ownerOf(request.owner);
    const minSeq = numberOf("min_seq", request.minSeq);
    const { state, preview } = await domain.describe(memory, owner, { minSeq, preview: request.preview });
    let liveBytes = 0;
    let diskBytes = 0;
    for (const kind of state.kinds) {
      liveBytes += kind.liveBytes;
      diskBytes += kind.diskBytes;
    }
    const held = state.kinds.filter((kind) => kind.entries > 0);
    return {
      owner: ownerMessage(owner),
      exists: state.exists,
      liveBytes: int64Of(liveBytes),
      diskBytes: int64Of(diskBytes),
      items: held.map((kind) => ({
        kind: kindCode(kind.kind),
        entries: int64Of(kind.entries),
        liveBytes: int64Of(kind.liveBytes),
        diskBytes: int64Of(kind.diskBytes),
      })),
      lastAccessMs: int64Of(state.lastAccessMs),
      corruptLines: int64Of(state.corruptLines),
      tornTails: int64Of(state.tornTails),
      droppedByCaps: int64Of(state.droppedByCaps),
      durability: memory.store.durability,
      config: configMessage(state.effective.config),
      attached: state.effective.attached,
      seq: int64Of(state.seq),
      watchFloorSeq: int64Of(state.floor),
      preview,
      writable: state.writable,
    };
  };
}
