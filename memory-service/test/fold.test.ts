import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fold } from "../src/text/fold.js";

// Full case folding by its definition, on decomposed text: slow and plain. ß and its kind need the capital's small form.
function foldedSlowly(text: string): string {
  const folded = [...text.normalize("NFKD")]
    .map((character) => (character === "ı" ? character : character.toLowerCase().toUpperCase().toLowerCase()))
    .join("");
  return folded
    .replaceAll("ς", "σ")
    .replace(/i\u0307+/g, "i")
    .normalize("NFKC");
}

function* codePoints(): Generator<string> {
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code < 0xd800 || code > 0xdfff) yield String.fromCodePoint(code);
  }
}

const tricky = fc.string({
  unit: fc.oneof(
    fc.constantFrom(..."aAiIıİjßẞςΣσΐΰǰŉſᾳᾼᾷαΑιΙῌｶﾞかがé", ..."ﬁﬀᲀᲈᎠꭰᏸԵև№①ÅKΩ가각"),
    fc.constantFrom("\u0307", "\u0301", "\u0308", "\u0323", "\u0328", "\u0345", "\u0315", "\u3099", "\u11a8", "\ud800"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
  maxLength: 12,
});

describe("fold", () => {
  it.each([
    ["Café", "cafe\u0301"],
    ["ＡＢＣ１２３", "abc123"],
    ["STRASSE", "straße"],
    ["STRAẞE", "Strasse"],
    ["ΟΔΟΣ", "οδός".normalize("NFD").replace("\u0301", "")],
    ["ΣΊΣΥΦΟΣ", "σίσυφος"],
    ["İstanbul", "istanbul"],
    ["I\u0307STANBUL", "istanbul"],
    ["ᎠᎡ", "ꭰꭱ"],
    ["ᏸ", "Ᏸ"],
    ["ᾳ", "ΑΙ"],
    ["ᾼ", "αι"],
    ["α\u0315\u0345", "Α\u0315Ι"],
    ["ﬁne", "FINE"],
    ["ｶﾞ", "ガ"],
    ["Привет", "ПРИВЕТ"],
    ["ŉ", "ʼN"],
    ["İ\u0325", "i\u0325\u0307"],
    ["µ", "Μ"],
    ["各\ufa00", "各切"],
  ])("finds %s under %s and the other way round", (a, b) => {
    expect(fold(a)).toBe(fold(b));
    expect(fold(`x ${a} y`)).toContain(fold(b));
    expect(fold(`x ${b} y`)).toContain(fold(a));
  });

  it.each([
    ["か", "が"],
    ["e", "é"],
    ["ı", "I"],
    ["u", "ü"],
  ])("does not find %s in %s", (query, text) => {
    expect(fold(text)).not.toContain(fold(query));
    expect(fold(text.normalize("NFD"))).not.toContain(fold(query));
  });

  it("is full case folding for every code point", () => {
    const wrong: string[] = [];
    for (const character of codePoints()) {
      if (fold(character) !== foldedSlowly(character)) wrong.push(character.codePointAt(0)?.toString(16) ?? "");
    }
    expect(wrong).toEqual([]);
  });

  it("is full case folding for marks and letters in any order", () => {
    fc.assert(
      fc.property(tricky, (text) => {
        expect(fold(text)).toBe(foldedSlowly(text));
      }),
      { numRuns: 5000 },
    );
  });

  it("gives the same form for every Unicode form and when done twice", () => {
    fc.assert(
      fc.property(tricky, (text) => {
        const form = fold(text);
        expect(fold(form)).toBe(form);
        for (const name of ["NFC", "NFD", "NFKC", "NFKD"]) expect(fold(text.normalize(name))).toBe(form);
      }),
      { numRuns: 5000 },
    );
  });

  it("takes the short way only where the long way says the same", () => {
    const simple = [...codePoints()].filter((character) => fold(character) === character.toLowerCase());
    fc.assert(
      fc.property(fc.array(fc.nat(simple.length - 1), { maxLength: 8 }), (picks) => {
        const text = picks.map((pick) => simple[pick] ?? "").join("");
        expect(fold(text)).toBe(foldedSlowly(text));
      }),
      { numRuns: 3000 },
    );
  });

  it("takes a megabyte of any script", () => {
    for (const unit of ["a", "é", "ж", "今", "ß", "ᾳ", "\u0307"])
      expect(fold(unit.repeat(1 << 20)).length).toBeGreaterThan(0);
  });
});
