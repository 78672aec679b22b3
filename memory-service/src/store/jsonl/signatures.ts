// Which blocks of a log can hold a text: a Bloom filter of folded grams a block,
// stored bit-sliced, 32 blocks a group, so that one word answers for 32 blocks.
//
// Grams are trigrams; where a character outside ASCII takes part, also bigrams and
// single characters, so that short CJK queries are narrowed down too.

const BITS = 8192;
const MASK = BITS - 1;
const BLOCKS_PER_GROUP = 32;

export class Signatures {
  /** The open block's own filter, one bit a gram. */
  private readonly open = new Uint32Array(BITS / 32);
  private readonly groups: Uint32Array[] = [];
  private sealed = 0;

  add(folded: string): void {
    const { open } = this;
    const length = folded.length;
    let a = 0;
    let b = 0;
    for (let i = 0; i < length; i++) {
      const c = folded.charCodeAt(i);
      if (i >= 2) {
        const bit = trigram(a, b, c);
        open[bit >>> 5] |= 1 << (bit & 31);
      }
      if (c > 127) {
        const bit = unigram(c);
        open[bit >>> 5] |= 1 << (bit & 31);
      }
      if (i >= 1 && (c > 127 || b > 127)) {
        const bit = bigram(b, c);
        open[bit >>> 5] |= 1 << (bit & 31);
      }
      a = b;
      b = c;
    }
  }

  /** Ends the open block and begins the next. */
  seal(): void {
    const slot = this.sealed % BLOCKS_PER_GROUP;
    if (slot === 0) this.groups.push(new Uint32Array(BITS));
    const group = this.groups[this.groups.length - 1];
    const bitOfBlock = 1 << slot;
    const { open } = this;
    for (let word = 0; word < open.length; word++) {
      let bits = open[word];
      while (bits !== 0) {
        group[(word << 5) + 31 - Math.clz32(bits & -bits)] |= bitOfBlock;
        bits &= bits - 1;
      }
    }
    open.fill(0);
    this.sealed++;
  }

  /** The blocks that may hold the grams, one word for 32 blocks; the open block is the last. */
  candidates(grams: readonly number[]): Uint32Array {
    const blocks = this.sealed + 1;
    const words = new Uint32Array(Math.ceil(blocks / BLOCKS_PER_GROUP));
    for (let g = 0; g < this.groups.length; g++) {
      const group = this.groups[g];
      let bits = 0xffffffff | 0;
      for (let i = 0; i < grams.length && bits !== 0; i++) bits &= group[grams[i]];
      words[g] = bits;
    }
    const openAt = this.sealed % BLOCKS_PER_GROUP;
    const last = this.sealed >>> 5;
    // Bits of blocks that aren't there yet are set when no gram narrows the search.
    words[last] = openAt === 0 ? 0 : words[last] & (0xffffffff >>> (32 - openAt));
    if (grams.every((bit) => (this.open[bit >>> 5] & (1 << (bit & 31))) !== 0)) words[last] |= 1 << openAt;
    return words;
  }
}

/** The grams that a text holding `folded` must have; none means that every block may. */
export function queryGrams(folded: string): number[] {
  const grams = new Set<number>();
  if (folded.length >= 3) {
    for (let i = 2; i < folded.length; i++) {
      grams.add(trigram(folded.charCodeAt(i - 2), folded.charCodeAt(i - 1), folded.charCodeAt(i)));
    }
  } else if (folded.length === 2) {
    const [a, b] = [folded.charCodeAt(0), folded.charCodeAt(1)];
    if (a > 127 || b > 127) grams.add(bigram(a, b));
  } else if (folded.length === 1 && folded.charCodeAt(0) > 127) {
    grams.add(unigram(folded.charCodeAt(0)));
  }
  return [...grams];
}

function trigram(a: number, b: number, c: number): number {
  return mix(Math.imul(a, 0x2c1b3c6d) ^ Math.imul(b, 0x297a2d39) ^ Math.imul(c, 0x1b56c4e9));
}

function bigram(a: number, b: number): number {
  return mix(Math.imul(a, 0x85157af5) ^ Math.imul(b, 0x0bd1b995) ^ 0x51ed270b);
}

function unigram(a: number): number {
  return mix(Math.imul(a, 0x68e31da4) ^ 0x3c6ef372);
}

function mix(hash: number): number {
  const h = Math.imul(hash ^ (hash >>> 15), 0x9e3779b1);
  return (h ^ (h >>> 16)) & MASK;
}
