import { between, type Random } from "../../lib/random.js";

/** A changed log, and which of its bytes are no longer where or what they were. */
export interface Damage {
  readonly name: string;
  readonly bytes: Buffer;
  /** Entries that touch this range of the undamaged log may be gone. */
  readonly from: number;
  readonly to: number;
  /** Bytes were moved: what is left of a line may look like one of before Reverie, which has no checksum. */
  readonly moved?: boolean;
}

const SECTOR_BYTES = 512;
const LONGEST_CHUNK_BYTES = 1500;

/** Ways in which a disk, or a program, alters bytes. `i` of `of` spreads them over the log. */
export const damages: readonly ((log: Buffer, i: number, of: number, random: Random) => Damage)[] = [
  bitFlip,
  bitFlip,
  bitFlip,
  otherByte,
  swappedBytes,
  duplicatedChunk,
  lostChunk,
  zeroedSector,
  exchangedSectors,
];

export function bitFlip(log: Buffer, i: number, of: number, random: Random): Damage {
  const at = spread(log, i, of, random);
  const bit = between(random, 0, 7);
  const bytes = Buffer.from(log);
  bytes[at] ^= 1 << bit;
  return { name: `bit ${bit} of byte ${at} flipped`, bytes, from: at, to: at + 1 };
}

function otherByte(log: Buffer, i: number, of: number, random: Random): Damage {
  const at = spread(log, i, of, random);
  const bytes = Buffer.from(log);
  bytes[at] = (bytes[at] + between(random, 1, 255)) & 0xff;
  return { name: `byte ${at} altered`, bytes, from: at, to: at + 1 };
}

function swappedBytes(log: Buffer, i: number, of: number, random: Random): Damage {
  const at = Math.min(log.length - 2, spread(log, i, of, random));
  const bytes = Buffer.from(log);
  [bytes[at], bytes[at + 1]] = [bytes[at + 1], bytes[at]];
  return { name: `bytes ${at} and ${at + 1} swapped`, bytes, from: at, to: at + 2 };
}

function duplicatedChunk(log: Buffer, i: number, of: number, random: Random): Damage {
  const at = spread(log, i, of, random);
  const chunk = log.subarray(at, at + between(random, 1, LONGEST_CHUNK_BYTES));
  const to = between(random, 0, log.length);
  const bytes = Buffer.concat([log.subarray(0, to), chunk, log.subarray(to)]);
  return { name: `${chunk.length} bytes from ${at} put in at ${to}`, bytes, from: to, to, moved: true };
}

function lostChunk(log: Buffer, i: number, of: number, random: Random): Damage {
  const at = spread(log, i, of, random);
  const to = Math.min(log.length, at + between(random, 1, LONGEST_CHUNK_BYTES));
  return {
    name: `bytes ${at} to ${to} gone`,
    bytes: Buffer.concat([log.subarray(0, at), log.subarray(to)]),
    from: at,
    to,
    moved: true,
  };
}

function zeroedSector(log: Buffer, i: number, of: number, random: Random): Damage {
  const at = spread(log, i, of, random) & -SECTOR_BYTES;
  const bytes = Buffer.from(log);
  bytes.fill(0, at, Math.min(bytes.length, at + SECTOR_BYTES));
  return { name: `the sector at ${at} zeroed`, bytes, from: at, to: at + SECTOR_BYTES };
}

function exchangedSectors(log: Buffer, i: number, of: number, random: Random): Damage {
  const last = Math.max(1, Math.floor(log.length / SECTOR_BYTES) - 1);
  const [a, b] = [Math.min(last, Math.floor(spread(log, i, of, random) / SECTOR_BYTES)), between(random, 0, last)]
    .sort((one, other) => one - other)
    .map((sector) => sector * SECTOR_BYTES);
  const bytes = Buffer.from(log);
  log.copy(bytes, a, b, b + SECTOR_BYTES);
  log.copy(bytes, b, a, a + SECTOR_BYTES);
  return { name: `the sectors at ${a} and ${b} exchanged`, bytes, from: a, to: b + SECTOR_BYTES, moved: true };
}

export function truncated(log: Buffer, length: number): Damage {
  return { name: `truncated to ${length} bytes`, bytes: log.subarray(0, length), from: length, to: log.length };
}

function spread(log: Buffer, i: number, of: number, random: Random): number {
  return Math.min(log.length - 1, Math.floor(((i + random()) / of) * log.length));
}
