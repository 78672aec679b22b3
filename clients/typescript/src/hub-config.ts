import { ServiceConfigError } from "./errors.js";
import type { MemoryKind } from "./kinds.js";
import { isMemoryKind, MEMORY_KINDS, toProtoKind } from "./kinds.js";

/** An owner's memory config as hubs write it in YAML. */
export interface HubMemoryConfig {
  /** The kinds that may be stored and read; default all. */
  readonly allowedKinds?: readonly MemoryKind[];
  /** The most live bytes of episodic memories; beyond it the oldest half goes. Default and 0: no cap. */
  readonly maxEpisodicBytes?: number;
  /** The same for semantic ones. */
  readonly maxSemanticBytes?: number;
  /** Hubs pass it along; it says who the owner is (`resolveScope`), so it is ignored here. */
  readonly scope?: unknown;
}

const KEYS = ["allowedKinds", "maxEpisodicBytes", "maxSemanticBytes"];

/** The config for the wire. Throws ServiceConfigError for an unknown key or a bad value. */
export function parseHubConfig(config: unknown) {
  if (typeof config !== "object" || config === null || Array.isArray(config)) {
    throw new ServiceConfigError("The memory config must be a map of keys to values.");
  }
  const given = config as Record<string, unknown>;
  for (const key of Object.keys(given)) {
    if (key !== "scope" && !KEYS.includes(key)) {
      throw new ServiceConfigError(
        `The memory config has the unknown key ${JSON.stringify(key)}. Known: ${KEYS.join(", ")}.`,
      );
    }
  }
  return {
    allowedKinds: allowedKinds(given.allowedKinds).map(toProtoKind),
    maxEpisodicBytes: bytes("maxEpisodicBytes", given.maxEpisodicBytes),
    maxSemanticBytes: bytes("maxSemanticBytes", given.maxSemanticBytes),
  };
}

function allowedKinds(value: unknown): MemoryKind[] {
  if (value === undefined) return [];
  const bad = (why: string) =>
    new ServiceConfigError(
      `allowedKinds ${why}. Give a list of ${MEMORY_KINDS.join(", ")}, or leave it out to allow all.`,
    );
  if (!Array.isArray(value)) throw bad("must be a list");
  // On the wire an empty list means all, which nobody who writes `[]` means.
  if (value.length === 0) throw bad("is empty");
  for (const kind of value) if (!isMemoryKind(kind)) throw bad(`holds ${JSON.stringify(kind)}`);
  if (new Set(value).size !== value.length) throw bad("names a kind twice");
  return value as MemoryKind[];
}

function bytes(key: string, value: unknown): bigint {
  if (value === undefined) return 0n;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw new ServiceConfigError(
      `${key} must be a whole number of bytes, 0 or more (0: no cap), not ${JSON.stringify(value)}.`,
    );
  }
  return BigInt(value);
}
