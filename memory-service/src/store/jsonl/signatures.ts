// Which blocks of a log can hold a text: a filter of folded grams a block, stored
// bit-sliced, 32 blocks a group, so that one word answers for 32 blocks; and 16 groups
// side by side, so that one cache line answers for 512.
//
// All trigrams are hashed into it; where a character outside ASCII takes part, also
// bigrams and single characters. For ASCII's, of which there are few, each has a bit
// of its own: letters and digits exactly, all other characters in pairs as one.

/** Of hashed grams. */
const HASHED_BITS = 8192;
const MASK = HASHED_BITS - 1;
const GOLDEN = 0x9e3779b1;
/** Leaves a multiplied hash's upper 13 bits. */
const ASCII_SHIFT = 32 - 13;
/** a–z, 0–9, space, and all others. */
const PAIR_CLASSES = 38;
const FIRST_PAIR = HASHED_BITS;
const FIRST_SINGLE = FIRST_PAIR + PAIR_CLASSES * PAIR_CLASSES;
const WORDS = Math.ceil((FIRST_SINGLE + 128) / 32);
const BITS = WORDS * 32;
const BLOCKS_PER_GROUP = 32;
const GROUPS_PER_LINE = 16;

const SMALL = Uint8Array.from({ length: 128 }, (_, c) => String.fromCharCode(c).toLowerCase().charCodeAt(0));
/** The bit of each pair of ASCII characters. */
const PAIRS = Uint16Array.from({ length: 128 * 128 }, (_, pair) => {
  const classOf = (c: number): number => {
    const at = "abcdefghijklmnopqrstuvwxyz0123456789 ".indexOf(String.fromCharCode(c));
    return at < 0 ? PAIR_CLASSES - 1 : at;
  };
  return FIRST_PAIR + classOf(pair >>> 7) * PAIR_CLASSES + classOf(pair & 127);
});

const scratch = Buffer.allocUnsafe(16 * 1024);

export class Signatures {
  /** The open block's own filter, a byte a gram; allocated when the first text comes. */
  private open = new Uint8Array(0);
  /** Of sealed blocks that make no group yet. */
  private recent: Int32Array[] = [];
  /** Of groups that make no line yet. */
  private groups: Int32Array[] = [];
  /** A bit's words of 16 groups, then the next bit's. */
  private readonly lines: Int32Array[] = [];
  private sealed = 0;

  add(folded: string): void {
    const open = this.openFilter();
    for (let i = 0, a = 0, b = 0; i < folded.length; i++) {
      const c = folded.charCodeAt(i);
      open[unigram(c)] = 1;
      if (i >= 1) open[bigram(b, c)] = 1;
      if (i >= 2) open[trigram(a, b, c)] = 1;
      a = b;
      b = c;
    }
  }

  /** The same of a text that is all ASCII: folds it too, in a third of the time. */
  addAscii(text: string): void {
    const open = this.openFilter();
    for (let from = 0; from < text.length; from += scratch.length - 2)
      setAsciiGrams(open, scratch.write(from === 0 ? text : text.slice(from), 0, "latin1"));
  }

  private openFilter(): Uint8Array {
    if (this.open.length === 0) this.open = new Uint8Array(BITS);
    return this.open;
  }

  /** Ends the open block and begins the next. */
  seal(): void {
    const { open } = this;
    const words = new Int32Array(WORDS);
    // Four bytes of 0 or 1 at a time: the product has their bits side by side above its lower 24.
    const fours = new Uint32Array(open.buffer);
    for (let word = 0; word < WORDS; word++) {
      let bits = 0;
      for (let four = 0; four < 8; four++) bits |= (Math.imul(fours[word * 8 + four], 0x01020408) >>> 24) << (four * 4);
      words[word] = bits;
    }
    open.fill(0);
    this.recent.push(words);
    this.sealed++;
    if (this.recent.length < BLOCKS_PER_GROUP) return;
    this.groups.push(sliced(this.recent));
    this.recent = [];
    if (this.groups.length < GROUPS_PER_LINE) return;
    this.lines.push(interleaved(this.groups));
    this.groups = [];
  }

  /** The blocks that may hold the grams, one word for 32 blocks; the open block is the last. */
  candidates(grams: readonly number[]): Uint32Array {
    const words = new Uint32Array((this.sealed >>> 5) + 1);
    let word = 0;
    for (const line of this.lines) {
      words.fill(-1, word, word + GROUPS_PER_LINE);
      for (let i = 0, left = -1; i < grams.length && left !== 0; i++) {
        const at = grams[i] * GROUPS_PER_LINE;
        left = 0;
        for (let g = 0; g < GROUPS_PER_LINE; g++) left |= words[word + g] &= line[at + g];
      }
      word += GROUPS_PER_LINE;
    }
    for (const group of this.groups) {
      let bits = -1;
      for (let i = 0; i < grams.length && bits !== 0; i++) bits &= group[grams[i]];
      words[word++] = bits;
    }
    let last = 0;
    for (let slot = 0; slot < this.recent.length; slot++) {
      const block = this.recent[slot];
      if (grams.every((bit) => (block[bit >>> 5] & (1 << (bit & 31))) !== 0)) last |= 1 << slot;
    }
    if (grams.every((bit) => this.open[bit] === 1)) last |= 1 << this.recent.length;
    words[word] = last;
    return words;
  }
}

/** Of the characters in `scratch`. */
function setAsciiGrams(open: Uint8Array, length: number): void {
  for (let i = 0, key = 0; i < length; i++) {
    const c = SMALL[scratch[i]];
    key = ((key << 7) | c) & 0x1fffff;
    open[FIRST_SINGLE + c] = 1;
    if (i >= 1) open[PAIRS[key & 0x3fff]] = 1;
    if (i >= 2) open[Math.imul(key, GOLDEN) >>> ASCII_SHIFT] = 1;
  }
}

/** From the bits of each of 32 blocks to a word for each bit. */
function sliced(blocks: readonly Int32Array[]): Int32Array {
  const group = new Int32Array(BITS);
  for (let word = 0; word < WORDS; word++) {
    const square = group.subarray(word * 32, word * 32 + 32);
    for (let block = 0; block < 32; block++) square[block] = blocks[block][word];
    // Swaps halves of rows and columns, then quarters, down to single bits.
    for (let size = 16, mask = 0xffff; size > 0; size >>>= 1, mask ^= mask << size) {
      for (let row = 0; row < 32; row = (row + size + 1) & ~size) {
        const swapped = ((square[row] >>> size) ^ square[row + size]) & mask;
        square[row] ^= swapped << size;
        square[row + size] ^= swapped;
      }
    }
  }
  return group;
}

function interleaved(groups: readonly Int32Array[]): Int32Array {
  const line = new Int32Array(BITS * GROUPS_PER_LINE);
  for (const [g, group] of groups.entries()) {
    for (let bit = 0; bit < BITS; bit++) line[bit * GROUPS_PER_LINE + g] = group[bit];
  }
  return line;
}

/** The grams that a text holding `folded` must have, the most telling first; none means that every block may. */
export function queryGrams(folded: string): number[] {
  const at = (i: number): number => folded.charCodeAt(i);
  const grams: number[] = [];
  for (let i = 2; i < folded.length; i++) grams.push(trigram(at(i - 2), at(i - 1), at(i)));
  for (let i = 1; i < folded.length; i++) grams.push(bigram(at(i - 1), at(i)));
  for (let i = 0; i < folded.length; i++) grams.push(unigram(at(i)));
  return [...new Set(grams)];
}

function trigram(a: number, b: number, c: number): number {
  if ((a | b | c) < 128) return Math.imul((a << 14) | (b << 7) | c, GOLDEN) >>> ASCII_SHIFT;
  return mix(Math.imul(a, 0x2c1b3c6d) ^ Math.imul(b, 0x297a2d39) ^ Math.imul(c, 0x1b56c4e9));
}

function bigram(a: number, b: number): number {
  if ((a | b) < 128) return PAIRS[(a << 7) | b];
  return mix(Math.imul(a, 0x85157af5) ^ Math.imul(b, 0x0bd1b995) ^ 0x51ed270b);
}

function unigram(a: number): number {
  if (a < 128) return FIRST_SINGLE + a;
  return mix(Math.imul(a, 0x68e31da4) ^ 0x3c6ef372);
}

function mix(hash: number): number {
  const h = Math.imul(hash ^ (hash >>> 15), GOLDEN);
  return (h ^ (h >>> 16)) & MASK;
}
