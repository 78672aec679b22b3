import type { MethodImpl } from "@connectrpc/connect";
import type { OwnerService } from "@reverie/proto/memory";
import type { MemoryContext } from "../domain/context.js";
import * as domain from "../domain/owners.js";
import { configMessage, configOf, ownerOf } from "./convert.js";

export function attach(memory: MemoryContext): MethodImpl<typeof OwnerService.method.attach> {
  return async (request) => {
    const asked = request.config === undefined ? undefined : configOf(request.config);
    const { config, changed } = await domain.attach(memory, ownerOf(request.owner), asked, request.replace);
    return { config: configMessage(config), changed };
  };
}
