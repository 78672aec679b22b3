import { randomFillSync } from "node:crypto";
import { ReverieError } from "@reverie/service-kit/errors";
import { fitsBytes, MAX_ENTRY_ID_BYTES } from "./limits.js";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const RANDOM_LENGTH = 6;
// Bytes from here on would favour the alphabet's first letters.
const UNBIASED = 256 - (256 % ALPHABET.length);
const CONTROL = /\p{Cc}/u;

const pool = new Uint8Array(1024);
let used = pool.length;

function randomByte(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return pool[used++] ?? 0;
}

/** A new id: `<base-36 milliseconds, 8 or more>-<6 of [a-z0-9]>`, so that ids made later sort later. */
export function makeEntryId(nowMs: number): string {
  let id = `${Math.max(0, Math.floor(nowMs)).toString(36).padStart(8, "0")}-`;
  for (let length = 0; length < RANDOM_LENGTH; ) {
    const byte = randomByte();
    if (byte >= UNBIASED) continue;
    id += ALPHABET[byte % ALPHABET.length];
    length++;
  }
  return id;
}

/** ENTRY_ID_INVALID unless the id is 1 to 128 bytes without control characters. */
export function checkEntryId(id: string): void {
  const [rule, advice] =
    id === ""
      ? ["empty", "must not be empty"]
      : !fitsBytes(id, MAX_ENTRY_ID_BYTES)
        ? ["size", `must be at most ${MAX_ENTRY_ID_BYTES} bytes of UTF-8`]
        : CONTROL.test(id)
          ? ["control", "must hold no control character"]
          : id.isWellFormed()
            ? []
            : ["surrogate", "must be well-formed Unicode"];
  if (rule !== undefined) {
    throw new ReverieError("ENTRY_ID_INVALID", `the entry's id ${advice}`, { metadata: { rule } });
  }
}
