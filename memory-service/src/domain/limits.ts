import { ReverieError } from "@reverie/service-kit/errors";

// Bytes count UTF-8. `reverie.info.v1.Limits` announces these.
export const MAX_TEXT_BYTES = 1_048_576;
export const MAX_ENTRY_ID_BYTES = 128;
export const MAX_OWNER_ID_BYTES = 255;
export const MAX_META_BYTES = 65_536;
/** The meta object itself is depth 1. */
export const MAX_META_DEPTH = 32;
/** The largest time that a date can hold, epoch milliseconds. */
export const MAX_TIME_MS = 8_640_000_000_000_000;

export const DEFAULT_K = 20;
export const MAX_K = 200;
export const DEFAULT_PAGE_SIZE = 100;
export const MAX_PAGE_SIZE = 500;
/** A page ends before its entries pass this; room is left below the 4 MiB of a message. */
export const MAX_PAGE_BYTES = 3 * 1024 * 1024;
export const MAX_PREVIEW_BYTES = 32 * 1024;
/** A longer line of an import is refused. Texts of 1 MiB, all of it escaped as `\u…`, fit. */
export const MAX_IMPORT_LINE_BYTES = 16 * 1024 * 1024;

/** After so many refusals RememberMany and ImportOwner stop reading. */
export const MAX_REFUSALS = 1_000;
/** What RememberMany and ImportOwner store under one acknowledgement at most. */
export const MAX_GROUP_ENTRIES = 1_000;
export const MAX_GROUP_BYTES = 1_048_576;

/** How long an idle watch is silent, milliseconds. */
export const WATCH_IDLE_MS = 30_000;

/** FIELD_INVALID of one field. */
export function fieldInvalid(field: string, description: string): ReverieError {
  return new ReverieError("FIELD_INVALID", `${field}: ${description}`, { violations: [{ field, description }] });
}

/** 0 means the default; more than `max` becomes `max`; a negative or broken number is FIELD_INVALID. */
export function clampCount(field: string, asked: number, standard: number, max: number): number {
  if (!Number.isInteger(asked) || asked < 0) throw fieldInvalid(field, "must be 0 or more; 0 means the default");
  return asked === 0 ? standard : Math.min(asked, max);
}

/** The text cut at a code point boundary to at most so many bytes of UTF-8, and well-formed. */
export function cutToBytes(text: string, maxBytes: number): string {
  const whole = text.toWellFormed();
  if (fitsBytes(whole, maxBytes)) return whole;
  const { read } = new TextEncoder().encodeInto(whole, new Uint8Array(maxBytes));
  return whole.slice(0, read);
}

export function fitsBytes(text: string, maxBytes: number): boolean {
  // A code unit takes 1 to 3 bytes.
  return text.length * 3 <= maxBytes || (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes);
}
