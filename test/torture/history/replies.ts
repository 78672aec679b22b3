import type { Message } from "@bufbuild/protobuf";
import type { MemoryKind } from "@reverie/client";
import { ErrorReason } from "@reverie/proto/info";
import {
  type ClearResponse,
  type DescribeResponse,
  type Entry,
  type ForgetResponse,
  type GetEntryResponse,
  Kind,
  type ListEntriesResponse,
  type PatchMetaResponse,
  type RecallResponse,
  type RememberManyResponse,
  type RememberResponse,
  type RestoreResponse,
  type SoftDeleteResponse,
} from "@reverie/proto/memory";
import { type CallName, canonicalMeta, type Reply, type Version } from "./operation.js";

const KIND_NAMES: Partial<Record<Kind, MemoryKind>> = {
  [Kind.EPISODIC]: "episodic",
  [Kind.SEMANTIC]: "semantic",
  [Kind.WORKING]: "working",
};

export function kindName(kind: Kind): MemoryKind {
  const name = KIND_NAMES[kind];
  if (name === undefined) throw new Error(`a reply holds the kind ${kind}`);
  return name;
}

export function versionOf(entry: Entry | undefined): Version {
  if (entry === undefined) throw new Error("a reply lacks its entry");
  const { id, kind, text, tsMs, metaJson, seq } = entry;
  return { id, kind: kindName(kind), text, ts: Number(tsMs), meta: canonicalMeta(metaJson), seq: Number(seq) };
}

type Reader<C extends CallName> = (messages: readonly Message[]) => Reply<C>;

const one =
  <M extends Message, R>(read: (message: M) => R) =>
  ([message]: readonly Message[]): R =>
    read(message as M);

const READERS: { readonly [C in CallName]: Reader<C> } = {
  remember: one(({ seq, entry, alreadyStored }: RememberResponse) => ({
    seq: Number(seq),
    entry: versionOf(entry),
    already: alreadyStored,
  })),
  rememberMany: one(({ stored, alreadyStored, firstSeq, lastSeq, refused }: RememberManyResponse) => ({
    seq: Number(lastSeq),
    stored: Number(stored),
    already: Number(alreadyStored),
    firstSeq: Number(firstSeq),
    refusals: refused.map(({ index, reason }) => ({ index: Number(index), reason: ErrorReason[reason] })),
  })),
  patch: one(({ seq, entry }: PatchMetaResponse) => ({
    seq: Number(seq),
    ...(entry !== undefined && { entry: versionOf(entry) }),
  })),
  forget: one(({ seq, found }: ForgetResponse) => ({ seq: Number(seq), found })),
  clear: one(({ seq, removed }: ClearResponse) => ({ seq: Number(seq), removed: Number(removed) })),
  softDelete: one(({ seq, moved, ref }: SoftDeleteResponse) => ({
    seq: Number(seq),
    moved,
    refId: ref?.refId ?? "",
  })),
  restore: one(({ seq, entries }: RestoreResponse) => ({ seq: Number(seq), entries: Number(entries) })),
  get: one(({ seq, entry }: GetEntryResponse) => ({ seq: Number(seq), entry: versionOf(entry) })),
  list: one(({ seq, entries }: ListEntriesResponse) => ({ seq: Number(seq), entries: entries.map(versionOf) })),
  recall: (messages) => {
    const events = (messages as readonly RecallResponse[]).map(({ event }) => event);
    const summary = events.at(-1);
    if (summary?.case !== "summary") throw new Error("a Recall ended without its summary");
    const entries = events.flatMap((event) => (event.case === "batch" ? event.value.entries.map(versionOf) : []));
    return { seq: Number(summary.value.seq), entries };
  },
  describe: one(({ seq, items }: DescribeResponse) => {
    const counts = { episodic: 0, semantic: 0, working: 0 };
    for (const { kind, entries } of items) counts[kindName(kind)] = Number(entries);
    return { seq: Number(seq), counts };
  }),
};

/** The messages that answered a call, as the checker reads them. */
export function replyOf<C extends CallName>(call: C, messages: readonly Message[]): Reply<C> {
  return READERS[call](messages);
}
