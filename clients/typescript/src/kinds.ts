import { Kind, OwnerKind as ProtoOwnerKind } from "@reverie/proto/memory";
import { invalidArgument, ReverieError } from "./errors.js";

/** What sort of memory an entry is. */
export type MemoryKind = "episodic" | "semantic" | "working";
/** Who a memory belongs to. */
export type OwnerKind = "agent" | "workflow-run" | "shared" | "user" | "org" | "peer";

const KINDS: ReadonlyMap<unknown, Kind> = new Map<MemoryKind, Kind>([
  ["episodic", Kind.EPISODIC],
  ["semantic", Kind.SEMANTIC],
  ["working", Kind.WORKING],
]);
const OWNER_KIND_CODES: ReadonlyMap<unknown, ProtoOwnerKind> = new Map<OwnerKind, ProtoOwnerKind>([
  ["agent", ProtoOwnerKind.AGENT],
  ["workflow-run", ProtoOwnerKind.WORKFLOW_RUN],
  ["shared", ProtoOwnerKind.SHARED],
  ["user", ProtoOwnerKind.USER],
  ["org", ProtoOwnerKind.ORG],
  ["peer", ProtoOwnerKind.PEER],
]);
const KIND_NAMES = new Map([...KINDS].map(([name, kind]) => [kind, name as MemoryKind]));
const OWNER_KIND_NAMES = new Map([...OWNER_KIND_CODES].map(([name, kind]) => [kind, name as OwnerKind]));

export const MEMORY_KINDS: readonly MemoryKind[] = [...KIND_NAMES.values()];
export const OWNER_KINDS: readonly OwnerKind[] = [...OWNER_KIND_NAMES.values()];

export const isMemoryKind = (value: unknown): value is MemoryKind => KINDS.has(value);
export const isOwnerKind = (value: unknown): value is OwnerKind => OWNER_KIND_CODES.has(value);

/** Throws FIELD_INVALID for anything but a kind's name. */
export function toProtoKind(name: MemoryKind): Kind {
  const kind = KINDS.get(name);
  if (kind === undefined) throw unknownName("kind", name, MEMORY_KINDS);
  return kind;
}

/** Throws FIELD_INVALID for anything but an owner kind's name. */
export function toProtoOwnerKind(name: OwnerKind): ProtoOwnerKind {
  const kind = OWNER_KIND_CODES.get(name);
  if (kind === undefined) throw unknownName("owner.kind", name, OWNER_KINDS);
  return kind;
}

export function fromProtoKind(kind: Kind): MemoryKind {
  return KIND_NAMES.get(kind) ?? newer("kind", kind);
}

export function fromProtoOwnerKind(kind: ProtoOwnerKind): OwnerKind {
  return OWNER_KIND_NAMES.get(kind) ?? newer("owner kind", kind);
}

function unknownName(field: string, value: unknown, allowed: readonly string[]): ReverieError {
  const description = `must be one of ${allowed.join(", ")}`;
  return invalidArgument("FIELD_INVALID", `${field} ${description}, not ${JSON.stringify(value)}.`, {
    violations: [{ field, description }],
  });
}

function newer(what: string, value: number): never {
  throw new ReverieError(
    "INTERNAL",
    "RESPONSE_INVALID",
    `The server answered with the ${what} ${value}, which this client doesn't know. Update @reverie/client.`,
  );
}
