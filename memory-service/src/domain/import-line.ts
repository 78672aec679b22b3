import { isUtf8 } from "node:buffer";
import { KINDS, type Kind } from "../store/store.js";
import { JsonObjectError, scanObject } from "../text/json-object.js";
import type { EntryDraft } from "./entry.js";
import { fieldInvalid } from "./limits.js";

const CONTROL_KEYS = ["head", "forget", "cleared"];

function decoded(fields: ReadonlyMap<string, string>, key: string): unknown {
  const raw = fields.get(key);
  return raw === undefined || raw === "null" ? undefined : JSON.parse(raw);
}

function stringField(fields: ReadonlyMap<string, string>, key: string): string | undefined {
  const value = decoded(fields, key);
  if (value === undefined || typeof value === "string") return value;
  throw fieldInvalid(key, "must be a string");
}

function scanned(line: Buffer): Map<string, string> {
  if (!isUtf8(line)) throw fieldInvalid("line", "is not valid UTF-8");
  try {
    const { members } = scanObject(line.toString("utf8"), { lenient: true });
    return new Map(members.map(({ key, raw }) => [key, raw]));
  } catch (error) {
    if (error instanceof JsonObjectError) throw fieldInvalid("line", error.message);
    throw error;
  }
}

/** A line whose entry is refused: its id, where it has one, goes with the error. */
export interface RefusedLine {
  readonly id: string;
  readonly error: unknown;
}

/**
 * The entry of one line of JSONL: id, kind, text, ts and meta (kept as written), whatever else stands there. undefined
 * for a blank line and for a line of a log that holds no entry. Its rules are left to check, but for the types.
 */
export function readImportLine(line: Buffer): EntryDraft | RefusedLine | undefined {
  let id = "";
  try {
    if (line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)) return undefined;
    const fields = scanned(line);
    id = stringField(fields, "id") ?? "";
    const text = stringField(fields, "text");
    if (text === undefined) {
      if (CONTROL_KEYS.some((key) => fields.has(key))) return undefined;
      throw fieldInvalid("text", "is missing; each line needs a text and a kind");
    }
    const kind = stringField(fields, "kind");
    if (kind === undefined || !KINDS.includes(kind as Kind)) {
      throw fieldInvalid("kind", `must be one of ${KINDS.join(", ")}`);
    }
    const ts = decoded(fields, "ts");
    if (ts !== undefined && typeof ts !== "number") throw fieldInvalid("ts", "must be a number of milliseconds");
    const meta = fields.get("meta") ?? "";
    // Older writers left fractions of a millisecond, which reading in place cuts off, too.
    return {
      id,
      kind: kind as Kind,
      text,
      ts: ts === undefined ? ts : Math.trunc(ts),
      meta: meta === "null" ? "" : meta,
    };
  } catch (error) {
    return { id, error };
  }
}
