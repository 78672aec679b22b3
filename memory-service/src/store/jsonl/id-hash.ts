import { randomFillSync } from "node:crypto";

// The 64-bit hash under which an index keeps an entry id, in two halves. It lives
// in memory only and is seeded a process, so that nobody can choose ids that collide.

const seed = randomFillSync(new Uint32Array(2));

let low = 0;
let high = 0;

/** Leaves its result in `hashLow()` and `hashHigh()`: no allocation on the hot path. */
export function hashId(id: string): void {
  let a = seed[0] | 0;
  let b = seed[1] | 0;
  for (let i = 0; i < id.length; i++) {
    const c = id.charCodeAt(i);
    a = Math.imul(a ^ c, 0x01000193);
    b = Math.imul(b ^ c, 0x5bd1e995);
    b ^= b >>> 13;
  }
  a = Math.imul(a ^ (a >>> 16) ^ b, 0x85ebca6b);
  b = Math.imul(b ^ (b >>> 15) ^ a, 0xc2b2ae35);
  low = (a ^ (a >>> 13)) >>> 0;
  high = (b ^ (b >>> 16)) >>> 0;
}

export const hashLow = (): number => low;
export const hashHigh = (): number => high;
