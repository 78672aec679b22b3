import type { MessageInitShape } from "@bufbuild/protobuf";
import type { MethodImpl } from "@connectrpc/connect";
import type { ListTrashResponseSchema, TrashService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/trash.js";
import { ownerOf, trashRefMessage } from "./convert.js";

const REFS_PER_MESSAGE = 100;

export function listTrash(memory: MemoryContext): MethodImpl<typeof TrashService.method.listTrash> {
  return async function* (request): AsyncGenerator<MessageInitShape<typeof ListTrashResponseSchema>> {
    const owner = request.owner === undefined ? undefined : ownerOf(request.owner);
    const refs = await domain.listTrash(memory, owner);
    for (let start = 0; start < refs.length; start += REFS_PER_MESSAGE) {
      yield { refs: refs.slice(start, start + REFS_PER_MESSAGE).map(trashRefMessage) };
    }
  };
}
