import { type ConfigOf, defineOptions, option, sharedOptions } from "@reverie/service-kit";
import { z } from "zod";
import { KINDS, type OwnerConfig } from "./store/store.js";

const byteCap = z.int().min(0);

/** Every option of the memory service, as flag, variable and key of the config file. */
export const memoryOptions = defineOptions({
  ...sharedOptions({
    grpcAddress: "127.0.0.1:50051",
    httpAddress: "127.0.0.1:8051",
    dataDir: "./.reverie/memory",
  }),
  durability: option({
    schema: z.enum(["fsync", "interval", "none"]),
    default: "fsync",
    valueName: "how",
    help: "When a write is acknowledged: fsync, once it is on disk; interval, at once, and synced every syncIntervalMs; none, at once, and left to the system.",
  }),
  syncIntervalMs: option({
    schema: z.int().min(10).max(60_000),
    default: 1_000,
    unit: "milliseconds",
    help: "With durability interval: the most that a crash of the machine loses.",
  }),
  trashRetentionDays: option({
    schema: z.int().min(0).max(36_500),
    default: 30,
    unit: "days",
    help: "How long the trash keeps what was soft-deleted before the hourly sweep deletes it for good.",
  }),
  allowedKinds: option({
    schema: z.array(z.enum(KINDS)).min(1, "must name at least one kind"),
    default: [...KINDS],
    valueName: "kinds",
    help: "The kinds that owners without a config of their own may store and read.",
  }),
  maxEpisodicBytes: option({
    schema: byteCap,
    default: 0,
    unit: "bytes",
    help: "The most live episodic bytes of an owner without a config of its own; beyond it the oldest half goes. 0: no cap.",
  }),
  maxSemanticBytes: option({
    schema: byteCap,
    default: 0,
    unit: "bytes",
    help: "The same for semantic memories. 0: no cap.",
  }),
  maxOpenOwners: option({
    schema: z.int().min(1).max(100_000),
    default: 256,
    unit: "owners",
    help: "How many owners stay open, with three file descriptors each at most; the longest unused are closed beyond that.",
  }),
  compactMinBytes: option({
    schema: byteCap,
    default: 65_536,
    unit: "bytes",
    help: "A log is compacted when more than this, and half of it, is waste.",
  }),
});

export type MemoryServiceConfig = ConfigOf<typeof memoryOptions>;

/** The config of owners that have none of their own. */
export function defaultOwnerConfig(config: MemoryServiceConfig): OwnerConfig {
  return {
    allowedKinds: KINDS.filter((kind) => config.allowedKinds.includes(kind)),
    maxEpisodicBytes: config.maxEpisodicBytes,
    maxSemanticBytes: config.maxSemanticBytes,
  };
}
