import type { Durability, OwnerConfig } from "../store.js";
import type { OwnerNames } from "./owner-names.js";
import type { Reserve } from "./reserve.js";
import type { Root } from "./root.js";
import type { DiskState } from "./storage-error.js";
import type { StoreLog } from "./store-log.js";

/** The owner left this object: look it up again and repeat. */
export class OwnerGone extends Error {
  override readonly name = "OwnerGone";
}

export interface OwnerContext {
  readonly root: Root;
  readonly names: OwnerNames;
  readonly reserve: Reserve;
  readonly durability: Durability;
  readonly syncIntervalMs: number;
  readonly defaults: OwnerConfig;
  readonly compactMinBytes: number;
  readonly now: () => number;
  readonly log: StoreLog;
  /** Something changed for those who watch this owner. */
  readonly changed: (key: string) => void;
  readonly disk: DiskState;
  readonly counters: { droppedByCaps: number; compactions: number; commits: number };
}
