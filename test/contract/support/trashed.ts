import type { TrashRef } from "@reverie/proto/memory";
import { type Api, collect, type OwnerInit } from "./contract.js";

export async function deleted(api: Api, owner: OwnerInit, reason = ""): Promise<TrashRef> {
  const { ref } = await api.trash.softDelete({ owner, reason });
  return ref as TrashRef;
}

export async function listed(api: Api, owner?: OwnerInit): Promise<TrashRef[]> {
  return (await collect(api.trash.listTrash(owner === undefined ? {} : { owner }))).flatMap(({ refs }) => refs);
}
