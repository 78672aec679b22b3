import type { Entry, NewEntry } from "@reverie/proto/memory";
import { checkNewEntryId, newEntryId } from "./entry-id.js";
import { invalidArgument, ReverieError } from "./errors.js";
import type { MemoryKind } from "./kinds.js";
import { fromProtoKind, toProtoKind } from "./kinds.js";
import type { Meta } from "./meta.js";
import { metaFromJson, metaToJson } from "./meta.js";

/** One memory. */
export interface MemoryEntry {
  readonly id: string;
  readonly kind: MemoryKind;
  readonly text: string;
  /** When it happened, milliseconds since the Unix epoch. */
  readonly ts: number;
  /** Absent when there is none. Numbers beyond a double's precision are rounded; see `metaFromJson`. */
  readonly meta?: Meta;
  /** The text is an older one over 1 MiB and was cut. */
  readonly textTruncated?: true;
  /** The meta is an older one over 64 KiB and was left out. */
  readonly metaOmitted?: true;
}

/** A memory to store. */
export interface NewMemory {
  readonly kind: MemoryKind;
  /** 1 byte to 1 MiB of UTF-8. Half a surrogate pair is stored as U+FFFD. */
  readonly text: string;
  /** At most 64 KiB of JSON, depth 32. */
  readonly meta?: Meta | undefined;
  /** At most 128 bytes; made when left out. */
  readonly id?: string | undefined;
  /** When it happened, milliseconds since the Unix epoch. Default now, by the server's clock. */
  readonly ts?: number | undefined;
}

export interface NewEntryInit {
  readonly kind: NewEntry["kind"];
  readonly text: string;
  readonly metaJson: string;
  readonly id: string;
  readonly tsMs: bigint;
}

/** Always carries an id, so that sending it again is safe. Throws a ReverieError of code INVALID_ARGUMENT. */
export function toNewEntry(entry: NewMemory): NewEntryInit {
  checkKeys(entry);
  const { kind, text, meta, id, ts } = entry;
  if (typeof text !== "string") throw invalidArgument("TEXT_INVALID", "The text of a memory must be a string.");
  if (id !== undefined) checkNewEntryId(id);
  return {
    kind: toProtoKind(kind),
    text,
    metaJson: metaToJson(meta),
    id: id ?? newEntryId(),
    tsMs: toMs(ts ?? 0, "ts"),
  };
}

const NEW_KEYS: ReadonlySet<string> = new Set<keyof NewMemory>(["kind", "text", "meta", "id", "ts"]);

/** A misspelt key would be dropped without a word, and with it what it held. */
function checkKeys(entry: unknown): void {
  if (typeof entry !== "object" || entry === null) {
    throw invalidArgument("FIELD_INVALID", `A memory to store must be an object, not ${String(entry)}.`);
  }
  for (const [key, value] of Object.entries(entry)) {
    if (value === undefined || NEW_KEYS.has(key)) continue;
    const description = `is no key of a memory to store; those are ${[...NEW_KEYS].join(", ")}`;
    throw invalidArgument("FIELD_INVALID", `${JSON.stringify(key)} ${description}.`, {
      violations: [{ field: key, description }],
    });
  }
}

export function toMemoryEntry(entry: Entry | undefined): MemoryEntry {
  if (entry === undefined) {
    throw new ReverieError("INTERNAL", "RESPONSE_INVALID", "The server's answer lacks the entry. Report this.");
  }
  const meta = metaFromJson(entry.metaJson);
  return {
    id: entry.id,
    kind: fromProtoKind(entry.kind),
    text: entry.text,
    ts: Number(entry.tsMs),
    ...(meta && { meta }),
    ...(entry.textTruncated && { textTruncated: true }),
    ...(entry.metaOmitted && { metaOmitted: true }),
  };
}

/** A time, milliseconds, rounded up to a whole one. Throws FIELD_INVALID. */
export function toMs(value: number, field: string): bigint {
  const ms = typeof value === "number" ? Math.ceil(value) : Number.NaN;
  if (!Number.isSafeInteger(ms)) throw badNumber(field, value, "a number of milliseconds since the Unix epoch");
  return BigInt(ms);
}

/** A wish for some number of things, cut to `cap`; fractions are rounded down. Throws FIELD_INVALID below 0. */
export function toCount(value: number, cap: number, field: string): number {
  if (typeof value !== "number" || !(value >= 0)) throw badNumber(field, value, "0 or more");
  return Math.floor(Math.min(value, cap));
}

/** The same, without fractions. */
export function toWholeCount(value: number, cap: number, field: string): number {
  if (!Number.isInteger(value) && value !== Number.POSITIVE_INFINITY) {
    throw badNumber(field, value, "a whole number, 0 or more");
  }
  return toCount(value, cap, field);
}

/** A change counter for the wire. Throws FIELD_INVALID. */
export function toSeq(value: number, field: string): bigint {
  if (!Number.isSafeInteger(value) || value < 0)
    throw badNumber(field, value, "a number: 0, or a seq that the service gave");
  return BigInt(value);
}

function badNumber(field: string, value: unknown, wanted: string): ReverieError {
  const description = `must be ${wanted}`;
  return invalidArgument(
    "FIELD_INVALID",
    `${field} ${description}, not ${String(value)}${typeof value === "bigint" ? "n" : ""}.`,
    {
      violations: [{ field, description }],
    },
  );
}
