import { Buffer } from "node:buffer";
import { randomFillSync } from "node:crypto";
import { invalidArgument } from "./errors.js";
import { hasLoneSurrogate } from "./owner.js";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
// 252 is the largest multiple of 36 in a byte: above it the letters would not be equally likely.
const FAIR = 252;
const pool = new Uint8Array(1_024);
let at = pool.length;

/** `<base-36 ms, 8 or more>-<6 of [a-z0-9]>`: sorts by time, unique by chance (1 in 2 billion a millisecond). */
export function newEntryId(now: number = Date.now()): string {
  let id = `${now.toString(36).padStart(8, "0")}-`;
  for (let n = 0; n < 6; ) {
    if (at === pool.length) {
      randomFillSync(pool);
      at = 0;
    }
    const byte = pool[at++] as number;
    if (byte >= FAIR) continue;
    id += ALPHABET[byte % ALPHABET.length];
    n++;
  }
  return id;
}

/** Checks the id of a new entry: 1 to 128 bytes, no control characters. Throws ENTRY_ID_INVALID. */
export function checkNewEntryId(id: unknown): asserts id is string {
  const refuse = (why: string) =>
    invalidArgument("ENTRY_ID_INVALID", `The entry id ${JSON.stringify(id)} ${why}. Leave it out to get one.`);
  if (typeof id !== "string" || id === "") throw refuse("is no string of at least one character");
  if (Buffer.byteLength(id) > 128) throw refuse("is longer than 128 bytes of UTF-8");
  if (hasLoneSurrogate(id)) throw refuse("holds half a character and can't be sent as UTF-8");
  if (/\p{Cc}/u.test(id)) throw refuse("holds a control character");
}
