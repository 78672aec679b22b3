import { ListOrder } from "@reverie/proto/memory";
import type { CallSettings, Deps } from "./deps.js";
import { callOptions } from "./deps.js";
import type { MemoryEntry } from "./entry.js";
import { toMemoryEntry } from "./entry.js";
import type { MemoryKind } from "./kinds.js";
import { toProtoKind } from "./kinds.js";
import { MAX_LIST } from "./limits.js";
import type { Owner } from "./owner.js";
import { toProtoOwner } from "./owner.js";

export interface ListOptions extends CallSettings {
  /** Only these; default and empty: all that the owner's config allows. */
  readonly kinds?: readonly MemoryKind[] | undefined;
  /** Default `newest`. */
  readonly order?: "newest" | "oldest" | undefined;
}

/** Every memory of an owner, a page at a time; no cap. `timeoutMs` is for each page. */
export async function* listEntries(
  deps: Deps,
  owner: Owner | string,
  options: ListOptions = {},
): AsyncGenerator<MemoryEntry, void, undefined> {
  for await (const page of pages(deps, owner, options, () => MAX_LIST)) yield* page;
}

/** The first `limit` memories, newest first; reads on where the server ends a page early because of its size. */
export async function listFirst(
  deps: Deps,
  owner: Owner | string,
  options: ListOptions,
  limit: number,
): Promise<MemoryEntry[]> {
  const entries: MemoryEntry[] = [];
  if (limit === 0) return entries;
  for await (const page of pages(deps, owner, options, () => limit - entries.length)) {
    entries.push(...page);
    if (entries.length >= limit) break;
  }
  // A server that sends more than was asked for must not surprise the hub.
  if (entries.length > limit) entries.length = limit;
  return entries;
}

async function* pages(
  deps: Deps,
  owner: Owner | string,
  { kinds = [], order = "newest", ...settings }: ListOptions,
  size: () => number,
): AsyncGenerator<MemoryEntry[], void, undefined> {
  const request = {
    owner: toProtoOwner(owner),
    kinds: kinds.map(toProtoKind),
    order: order === "oldest" ? ListOrder.OLDEST_FIRST : ListOrder.NEWEST_FIRST,
  };
  let pageToken = "";
  do {
    const page = await deps.memory.listEntries({ ...request, pageToken, pageSize: size() }, callOptions(settings));
    yield page.entries.map(toMemoryEntry);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}
