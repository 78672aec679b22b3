import { ReverieError } from "@reverie/service-kit/errors";
import { type JsonMember, JsonObjectError, joinMembers, minifyObject, scanObject } from "../text/json-object.js";
import { fieldInvalid, fitsBytes, MAX_META_BYTES, MAX_META_DEPTH } from "./limits.js";

function metaInvalid(rule: string, message: string): ReverieError {
  return new ReverieError("META_INVALID", message, { metadata: { rule } });
}

/** Runs a scan; what it refuses becomes META_INVALID. */
function scanned<T>(field: string, scan: () => T): T {
  try {
    return scan();
  } catch (error) {
    if (error instanceof JsonObjectError) throw metaInvalid(error.rule, `${field} ${error.message}`);
    throw error;
  }
}

/**
 * The meta as it is stored: without white space outside strings, otherwise token for token; "" stays "". META_INVALID
 * unless it is one JSON object of at most 64 KiB as sent, depth 32, without a repeated key.
 */
export function checkMeta(meta: string, field = "meta_json"): string {
  if (meta === "") return "";
  if (!fitsBytes(meta, MAX_META_BYTES)) {
    throw metaInvalid("size", `${field} must be at most ${MAX_META_BYTES} bytes of UTF-8`);
  }
  return scanned(field, () => minifyObject(meta, { maxDepth: MAX_META_DEPTH }));
}

/**
 * How PatchMeta maps an entry's meta: `patchJson` (one JSON object, or "") sets top-level keys, `removeKeys` removes
 * some; other keys stay as they are, where they are. The result must keep the rules of meta. FIELD_INVALID when a key
 * is both set and removed.
 */
export function metaPatch(patchJson: string, removeKeys: readonly string[]): (meta: string) => string {
  const checked = checkMeta(patchJson, "patch_json");
  const patch = checked === "" ? [] : scanObject(checked).members;
  const remove = new Set(removeKeys);
  const twice = patch.find((member) => remove.has(member.key));
  if (twice !== undefined) {
    throw fieldInvalid(
      "remove_keys",
      `names ${twice.rawKey.slice(0, 200)}, which patch_json sets; send it in one of them`,
    );
  }
  return (meta) => {
    if (patch.length === 0 && remove.size === 0) return meta;
    // Older metas may break the rules; what comes out may not.
    const old = meta === "" ? [] : scanned("the entry's meta", () => scanObject(meta, { lenient: true }).members);
    const members = new Map<string, JsonMember>();
    for (const member of old) if (!remove.has(member.key)) members.set(member.key, member);
    for (const member of patch) members.set(member.key, member);
    if (members.size === 0 && meta === "") return "";
    return checkMeta(joinMembers([...members.values()]), "the patched meta");
  };
}
