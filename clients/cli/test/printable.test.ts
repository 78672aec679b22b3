import fc from "fast-check";
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { jsonLine } from "../src/output/output.js";
import { manyLines, oneLine, safeJsonLines } from "../src/output/printable.js";
import { createStyle } from "../src/output/style.js";
import { TableWriter } from "../src/output/table.js";
import { wrap } from "../src/output/wrap.js";

const control = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/u;
const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom("\x1b", "[31m", "\x1b]0;t\x07", "\x9b", "\u202e", "\r", "\n", "\t", " "),
    fc.string({ unit: "binary" }),
  ),
});

describe("what is stored", () => {
  it("can't drive a terminal, whatever it holds", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(oneLine(text)).not.toMatch(control);
        expect(manyLines(text).replace(/[\n\t]/g, "")).not.toMatch(control);
        expect(safeJsonLines(text).replaceAll("\n", "")).not.toMatch(control);
      }),
    );
    // The control: the pattern finds what would.
    expect("\x1b[31m").toMatch(control);
  });

  it("means the same in JSON", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const line = jsonLine(JSON.stringify({ text }));
        expect(line.slice(0, -1)).not.toMatch(control);
        expect(JSON.parse(line)).toEqual({ text });
      }),
    );
  });

  it("is shown with line breaks and controls that one can see", () => {
    expect(oneLine("a\r\n  b\tc\x1b[0m\u202e")).toBe("a ⏎ b c\\x1b[0m\\u202e");
    expect(manyLines("a\r\nb\tc\r\x07")).toBe("a\nb\tc\\x0d\\x07");
  });
});

describe("a table", () => {
  const columns = [
    { title: "id", max: 12 },
    { title: "kind", max: 8, spare: 1 },
    { title: "text", max: Number.POSITIVE_INFINITY },
  ];
  const render = (width: number, rows: string[][], maxLines?: number) =>
    new TableWriter(columns, { columns: width, style: createStyle(false), ...(maxLines && { maxLines }) }).render(rows);

  it("fits the terminal with wide characters and emoji, and keeps its columns", () => {
    const rows = [
      ["東京-1", "working", "東京は日本の首都です。".repeat(9)],
      ["a", "semantic", "👨‍👩‍👧‍👦 family and 🇩🇪 flag and ❤️ and é combined ".repeat(4)],
      ["a-very-long-id-that-wraps", "episodic", "plain words that wrap at spaces, again and again and again"],
    ];
    const lines = render(60, rows).trimEnd().split("\n");
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(60);
    // The first two columns are 22 wide, and two spaces keep the third off, however wide what stands in them is.
    for (const line of lines) {
      const before = Array.from(line, (_, at) => line.slice(0, at)).find((start) => stringWidth(start) === 24);
      expect(before ?? "  ", line).toMatch(/ {2}$/);
    }
    expect(lines.join("\n")).toContain("a-very-long-  episodic");
  });

  it("cuts long texts after three lines, at characters as readers see them", () => {
    const shown = render(40, [["1", "semantic", "👨‍👩‍👧‍👦".repeat(100)]]);
    expect(shown.split("\n")).toHaveLength(5);
    expect(shown).toMatch(/👨‍👩‍👧‍👦…\n$/);
    expect(render(40, [["1", "semantic", "word ".repeat(50)]], Number.POSITIVE_INFINITY).match(/word/g)).toHaveLength(
      50,
    );
  });

  it("leaves columns out where there is no room", () => {
    expect(render(30, [["id", "semantic", "some text here"]])).toBe("ID  TEXT\nid  some text here\n");
  });

  it("wraps any text into lines no wider than asked, but for one character that is itself, and loses only spaces", () => {
    const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 2, max: 30 }), (raw, width) => {
        const text = oneLine(raw);
        const lines = wrap(text, width);
        for (const line of lines) {
          if ([...characters.segment(line)].length > 1) expect(stringWidth(line)).toBeLessThanOrEqual(width);
        }
        expect(lines.join("").replaceAll(/\s/g, "")).toBe(text.normalize().replaceAll(/\s/g, ""));
      }),
      // Its composed form is three code points, each of which counts as a column.
      { examples: [["\u{1d160}", 2]] },
    );
  });
});
