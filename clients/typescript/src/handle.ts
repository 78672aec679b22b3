import type { Deps } from "./deps.js";
import type { MemoryEntry, NewMemory } from "./entry.js";
import { toCount, toMemoryEntry, toNewEntry } from "./entry.js";
import type { MemoryKind } from "./kinds.js";
import { toProtoKind } from "./kinds.js";
import { DEFAULT_LIST, MAX_K, MAX_LIST } from "./limits.js";
import { listFirst } from "./list.js";
import type { Meta } from "./meta.js";
import { patchToJson } from "./meta.js";
import type { Owner } from "./owner.js";
import { hasLoneSurrogate, toProtoOwner } from "./owner.js";
import { recallAll } from "./recall.js";

/** One owner's memory, as hubs know it from the in-process seat. Every method has the client's deadline. */
export interface MemoryHandle {
  /** Case-insensitive substring, newest first. k: default 20, at most 200; 0 returns nothing. `since`: ms, inclusive. */
  recall(query?: {
    text?: string | undefined;
    kinds?: readonly MemoryKind[] | undefined;
    k?: number | undefined;
    since?: number | undefined;
  }): Promise<MemoryEntry[]>;
  /** Resolves when the memory is durable. An id is made when none is given, so that retries store it once. */
  remember(entry: {
    kind: MemoryKind;
    text: string;
    meta?: Meta | undefined;
    id?: string | undefined;
  }): Promise<MemoryEntry>;
  /** Newest first. limit: default 100, at most 500; 0 returns nothing. */
  list(options?: { kind?: MemoryKind | undefined; limit?: number | undefined }): Promise<MemoryEntry[]>;
  /** Erases for good. An unknown id is no error. */
  forget(id: string): Promise<void>;
  /** Erases all memories of a kind; without one, all of the owner's. */
  clear(kind?: MemoryKind): Promise<void>;
  /** Shallow merge; a key whose value is undefined is removed. False when there is no such memory. */
  patchMeta(id: string, patch: Meta): Promise<boolean>;
}

export function createHandle(deps: Deps, owner: Owner | string): MemoryHandle {
  const to = toProtoOwner(owner);
  const who = typeof owner === "string" ? owner : { kind: owner.kind, id: owner.id };
  // A name that UTF-8 can't carry is nobody's; sent, it would turn into another one.
  const nobody = (id: string) => hasLoneSurrogate(id);
  return {
    async recall({ text, kinds, k, since } = {}) {
      const most = k === undefined ? undefined : toCount(k, MAX_K, "k");
      if (most === 0) return [];
      return (await recallAll(deps, who, { text, kinds, k: most, since })).entries;
    },
    async remember(entry: NewMemory) {
      // Hubs have no word on the time.
      const reply = await deps.memory.remember({ owner: to, entry: toNewEntry({ ...entry, ts: undefined }) });
      return toMemoryEntry(reply.entry);
    },
    async list({ kind, limit = DEFAULT_LIST } = {}) {
      return listFirst(deps, who, kind === undefined ? {} : { kinds: [kind] }, toCount(limit, MAX_LIST, "limit"));
    },
    async forget(id) {
      if (!nobody(id)) await deps.memory.forget({ owner: to, id });
    },
    async clear(kind) {
      await deps.memory.clear({ owner: to, ...(kind === undefined ? { all: true } : { kinds: [toProtoKind(kind)] }) });
    },
    async patchMeta(id, patch) {
      const json = patchToJson(patch);
      return nobody(id) ? false : (await deps.memory.patchMeta({ owner: to, id, ...json })).found;
    },
  };
}
