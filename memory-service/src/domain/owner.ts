import { ReverieError } from "@reverie/service-kit/errors";
import type { OwnerRef } from "../store/store.js";
import { fitsBytes, MAX_OWNER_ID_BYTES } from "./limits.js";

/** The one id of kind `org`. */
const ORG_ID = "self";

function brokenRule(owner: OwnerRef): { rule: string; advice: string } | undefined {
  const { kind, id } = owner;
  if (id === "") return { rule: "empty", advice: "must not be empty" };
  if (id === "." || id === "..") return { rule: "dot", advice: 'must not be "." or ".."' };
  if (!fitsBytes(id, MAX_OWNER_ID_BYTES)) {
    return { rule: "size", advice: `must be at most ${MAX_OWNER_ID_BYTES} bytes of UTF-8` };
  }
  if (id.includes("/") || id.includes("\\")) return { rule: "slash", advice: "must hold no slash or backslash" };
  if (id.includes("\0")) return { rule: "control", advice: "must hold no NUL" };
  if (!id.isWellFormed()) return { rule: "surrogate", advice: "must be well-formed Unicode" };
  if (kind === "org" && id !== ORG_ID) return { rule: "org", advice: `of kind org must be "${ORG_ID}"` };
  return undefined;
}

/**
 * Refuses with OWNER_ID_INVALID an id that can't be the name of any owner. What a new owner needs besides (Unicode
 * form, no leading dot, no control character, no twin) the store checks when it creates one, as an older directory
 * may be read under any name.
 */
export function checkOwner(owner: OwnerRef): void {
  const broken = brokenRule(owner);
  if (broken === undefined) return;
  throw new ReverieError("OWNER_ID_INVALID", `the owner's id ${broken.advice}`, { metadata: { rule: broken.rule } });
}
