import { invalidArgument, ReverieError } from "./errors.js";

/** What an entry carries beside its text. */
export type Meta = Record<string, unknown>;

/**
 * Meta as JSON text; "" when it is undefined or holds nothing. As with JSON.stringify, keys whose value is undefined are
 * left out and toJSON() is honoured. What JSON.stringify would drop or change without a word is META_INVALID: functions,
 * symbols, NaN and infinities, Map and Set, undefined inside arrays; so are bigint, cycles, and anything but an object.
 */
export function metaToJson(meta: Meta | undefined): string {
  if (meta === undefined) return "";
  if (typeof meta !== "object" || meta === null || Array.isArray(meta)) {
    throw refuse("object", "meta", "must be an object with string keys");
  }
  let json: string | undefined;
  try {
    json = JSON.stringify(meta, check);
  } catch (error) {
    if (error instanceof ReverieError) throw error;
    // A cycle, a toJSON() that throws, or nesting beyond the stack.
    const why = error instanceof Error ? (error.message.split("\n")[0] as string) : String(error);
    throw refuse("syntax", "meta", `can't be written as JSON: ${why}`, error);
  }
  if (json === undefined || !json.startsWith("{")) throw refuse("object", "meta", "must be an object with string keys");
  return json === "{}" ? "" : json;
}

/** A key of the patch whose value is undefined is to be removed. */
export function patchToJson(patch: Meta): { patchJson: string; removeKeys: string[] } {
  const patchJson = metaToJson(patch);
  return { patchJson, removeKeys: Object.keys(patch).filter((key) => patch[key] === undefined) };
}

function check(this: unknown, key: string, value: unknown): unknown {
  switch (typeof value) {
    case "bigint":
      throw refuse("syntax", key, "is a bigint, which JSON has no form for; use a string, or metaJson on the raw stub");
    case "function":
    case "symbol":
      throw refuse("syntax", key, `is a ${typeof value}, which JSON can't hold`);
    case "number":
      if (!Number.isFinite(value)) throw refuse("syntax", key, `is ${value}, which JSON can't hold`);
      return value;
    case "undefined":
      if (Array.isArray(this))
        throw refuse("syntax", key, "is undefined inside an array, which JSON can't hold; use null");
      return value;
    default:
      if (value instanceof Map || value instanceof Set) {
        throw refuse("syntax", key, "is a Map or Set, which JSON can't hold; use an object or an array");
      }
      return value;
  }
}

function refuse(rule: string, key: string, why: string, cause?: unknown): ReverieError {
  const where = key === "meta" ? "meta" : `meta: the value of ${JSON.stringify(key)}`;
  return invalidArgument("META_INVALID", `${where} ${why}.`, {
    metadata: { rule },
    violations: [{ field: "meta", description: `${where} ${why}` }],
    ...(cause !== undefined && { cause }),
  });
}

/**
 * Meta from JSON text; undefined when it is empty. Numbers beyond a double's precision are rounded, as JSON.parse does:
 * read `metaJson` on the raw stub where every digit counts. A key `__proto__` becomes an ordinary property.
 */
export function metaFromJson(json: string): Meta | undefined {
  if (json === "" || json === "{}") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw unreadable(cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw unreadable(undefined);
  for (const _ in value) return value as Meta;
  return undefined;
}

function unreadable(cause: unknown): ReverieError {
  return new ReverieError(
    "INTERNAL",
    "RESPONSE_INVALID",
    "The server sent a meta that is no JSON object. Report this.",
    {
      cause,
    },
  );
}
