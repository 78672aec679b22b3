import type { MethodImpl } from "@connectrpc/connect";
import type { OwnerService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/owners.js";
import { ownerOf } from "./convert.js";

export function detach(memory: MemoryContext): MethodImpl<typeof OwnerService.method.detach> {
  return (request) => domain.detach(memory, ownerOf(request.owner));
}
