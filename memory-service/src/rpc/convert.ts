import { ErrorReason } from "@reverie/proto/info";
import {
  type Entry,
  Kind as KindCode,
  type MemoryConfig,
  type NewEntry,
  type Owner,
  OwnerKind as OwnerKindCode,
  type RefusedItem,
  type TrashRef as TrashRefMessage,
} from "@reverie/proto/memory";
import type { Refusal } from "../domain/bulk-writer.js";
import type { EntryDraft } from "../domain/entry.js";
import { cutToBytes, fieldInvalid, fitsBytes, MAX_META_BYTES, MAX_TEXT_BYTES } from "../domain/limits.js";
import type { StoredEntry, TrashRef } from "../store/store.js";
import { KINDS, type Kind, OWNER_KINDS, type OwnerConfig, type OwnerKind, type OwnerRef } from "../store/store.js";

// Messages are made as literals with their type's name where many are sent: a tenth of the cost of create().

/** The longest id that a request may name, bytes; older files may hold longer ones. */
const MAX_ID_BYTES = 4096;
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

const kindCodes: Readonly<Record<Kind, KindCode>> = {
  episodic: KindCode.EPISODIC,
  semantic: KindCode.SEMANTIC,
  working: KindCode.WORKING,
};
const kindsByCode = new Map<KindCode, Kind>(KINDS.map((kind) => [kindCodes[kind], kind]));

const ownerKindCodes: Readonly<Record<OwnerKind, OwnerKindCode>> = {
  agent: OwnerKindCode.AGENT,
  "workflow-run": OwnerKindCode.WORKFLOW_RUN,
  shared: OwnerKindCode.SHARED,
  user: OwnerKindCode.USER,
  org: OwnerKindCode.ORG,
  peer: OwnerKindCode.PEER,
};
const ownerKindsByCode = new Map<OwnerKindCode, OwnerKind>(OWNER_KINDS.map((kind) => [ownerKindCodes[kind], kind]));

export function kindCode(kind: Kind): KindCode {
  return kindCodes[kind];
}

export function kindsOf(field: string, codes: readonly KindCode[]): Kind[] {
  return codes.map((code) => {
    const kind = kindsByCode.get(code);
    if (kind === undefined) throw fieldInvalid(field, "name kinds of KIND_EPISODIC, KIND_SEMANTIC, KIND_WORKING");
    return kind;
  });
}

export function ownerKindOf(field: string, code: OwnerKindCode): OwnerKind {
  const kind = ownerKindsByCode.get(code);
  if (kind === undefined) throw fieldInvalid(field, "name an owner kind, such as OWNER_KIND_AGENT");
  return kind;
}

export function ownerOf(owner: Owner | undefined): OwnerRef {
  if (owner === undefined) throw fieldInvalid("owner", "is required");
  return { kind: ownerKindOf("owner.kind", owner.kind), id: owner.id };
}

export function ownerMessage({ kind, id }: OwnerRef): Owner {
  return { $typeName: "reverie.memory.v1.Owner", kind: ownerKindCodes[kind], id: id.toWellFormed() };
}

/** FIELD_INVALID beyond 2^53 - 1 either way. */
export function numberOf(field: string, value: bigint): number {
  if (value > MAX_SAFE || value < -MAX_SAFE) throw fieldInvalid(field, "must lie within 2^53 - 1 either way");
  return Number(value);
}

/** An int64; what older lines hold beside whole numbers is cut off. */
export function int64Of(value: number): bigint {
  if (Number.isSafeInteger(value)) return BigInt(value);
  if (Number.isNaN(value)) return 0n;
  return BigInt(Math.max(Number.MIN_SAFE_INTEGER, Math.min(Math.trunc(value), Number.MAX_SAFE_INTEGER)));
}

export function draftOf(entry: NewEntry): EntryDraft {
  const { id, text, metaJson, tsMs } = entry;
  return { id, kind: kindsByCode.get(entry.kind), text, meta: metaJson, ts: tsMs === 0n ? undefined : Number(tsMs) };
}

export function idMessage(id: string): string {
  return cutToBytes(id, MAX_ID_BYTES);
}

/** The entry as it travels; of an older one that breaks today's limits what fits. */
export function entryMessage(entry: StoredEntry): Entry {
  const textTruncated = !fitsBytes(entry.text, MAX_TEXT_BYTES);
  const metaOmitted = !fitsBytes(entry.meta, MAX_META_BYTES);
  return {
    $typeName: "reverie.memory.v1.Entry",
    id: idMessage(entry.id),
    kind: kindCodes[entry.kind],
    text: textTruncated ? cutToBytes(entry.text, MAX_TEXT_BYTES) : entry.text.toWellFormed(),
    tsMs: int64Of(entry.ts),
    metaJson: metaOmitted ? "" : entry.meta.toWellFormed(),
    seq: int64Of(entry.seq),
    textTruncated,
    metaOmitted,
  };
}

export function refusedMessage({ index, id, reason, message }: Refusal): RefusedItem {
  return {
    $typeName: "reverie.memory.v1.RefusedItem",
    index: int64Of(index),
    id,
    reason: ErrorReason[reason],
    message,
  };
}

export function configOf(config: MemoryConfig): OwnerConfig {
  return {
    allowedKinds: kindsOf("config.allowed_kinds", config.allowedKinds),
    maxEpisodicBytes: numberOf("config.max_episodic_bytes", config.maxEpisodicBytes),
    maxSemanticBytes: numberOf("config.max_semantic_bytes", config.maxSemanticBytes),
  };
}

export function configMessage(config: OwnerConfig): MemoryConfig {
  return {
    $typeName: "reverie.memory.v1.MemoryConfig",
    allowedKinds: config.allowedKinds.map(kindCode),
    maxEpisodicBytes: int64Of(config.maxEpisodicBytes),
    maxSemanticBytes: int64Of(config.maxSemanticBytes),
  };
}

export function trashRefMessage(ref: TrashRef): TrashRefMessage {
  return {
    $typeName: "reverie.memory.v1.TrashRef",
    refId: ref.refId,
    owner: ownerMessage(ref.owner),
    deletedAtMs: int64Of(ref.deletedAt),
    expiresAtMs: int64Of(ref.expiresAt),
    reason: ref.reason.toWellFormed(),
    hasPayload: ref.hasPayload,
  };
}
