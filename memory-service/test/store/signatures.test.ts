import { describe, expect, it } from "vitest";
import { queryGrams, Signatures } from "../../src/store/jsonl/signatures.js";
import { fold } from "../../src/text/fold.js";

const ASCII = /^[\0-\x7f]*$/;
// Of each script, so that grams of both kinds and across them come.
const characters = [...'abcxyzABC019 .,-_/"\\\n~`', ..."éßçñйжщ", ..."東京都要素引数は", ..."모듈을", ..."👍🏽"];

/** A line of 16 groups, two groups behind it, ten blocks behind them, and the open one. */
const BLOCKS = (16 + 2) * 32 + 11;

describe("Signatures", () => {
  const random = generator(7);
  const pick = (): string => characters[random() % characters.length];
  const blocks = Array.from({ length: BLOCKS }, (_, block) =>
    Array.from({ length: 3 }, (_, text) => {
      const length = random() % 40;
      // Every other text is ASCII.
      const made = Array.from({ length }, () => (text === 1 ? pick() : characters[random() % 22])).join("");
      return block === 77 && text === 1 ? `${made} qjzvx` : made;
    }),
  );
  const signatures = signaturesOf(blocks);

  it("gives every block that holds a text, wherever it is in its group", () => {
    let holding = 0;
    for (const [block, texts] of blocks.entries()) {
      for (const folded of texts.map(fold)) {
        for (let from = 0; from < folded.length; from += 3) {
          const part = folded.slice(from, from + 1 + (random() % 6));
          expect(candidates(signatures, part), JSON.stringify(part)).toContain(block);
          holding++;
        }
      }
    }
    expect(holding).toBeGreaterThan(1000);
  });

  it("gives no other block for one or two ASCII letters or digits, and hardly one for three", () => {
    const exactly = (part: string): number[] =>
      blocks.flatMap((texts, block) => (texts.some((text) => fold(text).includes(part)) ? [block] : []));
    for (const a of "abcxyz019 ") {
      expect(candidates(signatures, a)).toEqual(exactly(a));
      for (const b of "abcxyz019 ") expect(candidates(signatures, a + b), a + b).toEqual(exactly(a + b));
    }
    for (const a of "~`@.") expect(candidates(signatures, a)).toEqual(exactly(a));
    expect(candidates(signatures, "qjzvx")).toEqual([77]);
    expect(candidates(signatures, "要素要素要")).toEqual(exactly("要素要素要"));
  });

  it("looks at the end of an ASCII text longer than its buffer, and across the buffer's end", () => {
    const long = new Signatures();
    const text = "x".repeat(16 * 1024 - 1);
    long.addAscii(`${text}QZV${text}Kw`);
    for (const part of ["xqz", "qzv", "zvx", "xkw", "kw"]) expect(candidates(long, part)).toEqual([0]);
    expect(candidates(long, "xzv")).toEqual([]);
  });

  it("gives all blocks for an empty text, and none of an empty log but its open block", () => {
    expect(candidates(signatures, "")).toHaveLength(BLOCKS);
    expect(candidates(new Signatures(), "abc")).toEqual([]);
  });
});

function signaturesOf(blocks: readonly (readonly string[])[]): Signatures {
  const signatures = new Signatures();
  for (const [block, texts] of blocks.entries()) {
    if (block > 0) signatures.seal();
    for (const text of texts) {
      if (ASCII.test(text)) signatures.addAscii(text);
      else signatures.add(fold(text));
    }
  }
  return signatures;
}

function candidates(signatures: Signatures, folded: string): number[] {
  const words = signatures.candidates(queryGrams(folded));
  return Array.from({ length: words.length * 32 }, (_, block) => block).filter(
    (block) => (words[block >>> 5] & (1 << (block & 31))) !== 0,
  );
}

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return (state ^ (state >>> 16)) >>> 0;
  };
}
