import type { MemoryStore, OwnerConfig } from "../store/store.js";

/** What the domain's functions work with. */
export interface MemoryContext {
  readonly store: MemoryStore;
  /** The config of owners that have none of their own. */
  readonly defaults: OwnerConfig;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Told of entries that a cap dropped, for metrics. */
  readonly onDroppedByCaps?: (entries: number) => void;
}
