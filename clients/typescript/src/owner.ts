import { Buffer } from "node:buffer";
import type { Owner as ProtoOwner } from "@reverie/proto/memory";
import { invalidArgument } from "./errors.js";
import type { OwnerKind } from "./kinds.js";
import { fromProtoOwnerKind, isOwnerKind, OWNER_KINDS, toProtoOwnerKind } from "./kinds.js";

/** Who memories belong to. */
export interface Owner {
  readonly kind: OwnerKind;
  /** 1 to 255 bytes of UTF-8; a directory name on the server, so no slash. */
  readonly id: string;
}

const MAX_ID_BYTES = 255;

/** The text form, such as `agent/x`. Throws FIELD_INVALID or OWNER_ID_INVALID. */
export function formatOwner(owner: Owner): string {
  const { kind, id } = checkOwner(owner);
  return `${kind}/${id}`;
}

/** Reads the text form. Throws FIELD_INVALID or OWNER_ID_INVALID. */
export function parseOwner(text: string): Owner {
  const slash = typeof text === "string" ? text.indexOf("/") : -1;
  const kind = slash < 0 ? undefined : text.slice(0, slash);
  if (!isOwnerKind(kind)) {
    const description = `must look like agent/<id>: one of ${OWNER_KINDS.join(", ")}, a slash and an id`;
    throw invalidArgument(
      "FIELD_INVALID",
      `The owner ${typeof text === "string" ? JSON.stringify(text) : String(text)} ${description}.`,
      {
        violations: [{ field: "owner", description }],
      },
    );
  }
  return checkOwner({ kind, id: text.slice(slash + 1) });
}

/** Checks what no server could accept; a server has more rules for new owners. Returns a plain copy. */
export function checkOwner(owner: Owner | string): Owner {
  if (typeof owner !== "object" || owner === null) return parseOwner(owner);
  const { kind, id } = owner;
  toProtoOwnerKind(kind);
  checkOwnerId(id);
  return { kind, id };
}

export function checkOwnerId(id: unknown): asserts id is string {
  const refuse = (rule: string, why: string) =>
    invalidArgument("OWNER_ID_INVALID", `The owner id ${JSON.stringify(id)} ${why}. Choose another id.`, {
      metadata: { rule },
      violations: [{ field: "owner.id", description: why }],
    });
  if (typeof id !== "string" || id === "") throw refuse("empty", "is no string of at least one character");
  if (hasLoneSurrogate(id)) throw refuse("unicode", "holds half a character and can't be sent as UTF-8");
  if (Buffer.byteLength(id) > MAX_ID_BYTES) throw refuse("length", `is longer than ${MAX_ID_BYTES} bytes of UTF-8`);
  if (id === "." || id === ".." || /[/\0]/.test(id)) throw refuse("path", "can't be the name of a directory");
}

export function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

/** For the raw stubs. */
export function toProtoOwner(owner: Owner | string): { kind: ProtoOwner["kind"]; id: string } {
  const { kind, id } = checkOwner(owner);
  return { kind: toProtoOwnerKind(kind), id };
}

export function fromProtoOwner(owner: ProtoOwner | undefined): Owner {
  return { kind: fromProtoOwnerKind(owner?.kind ?? 0), id: owner?.id ?? "" };
}
