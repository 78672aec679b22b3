import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonObjectError, joinMembers, minifyObject, type ScanOptions, scanObject } from "../src/text/json-object.js";

function ruleOf(text: string, options?: ScanOptions): string {
  try {
    scanObject(text, options);
  } catch (error) {
    if (error instanceof JsonObjectError) return error.rule;
    throw error;
  }
  return "none";
}

const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;

/** A value's text with white space strewn between its tokens. */
const spaced = (value: unknown, space: string): string =>
  JSON.stringify(value, null, 1).replaceAll(/\n */g, () => space);

describe("scanObject", () => {
  it("keeps numbers and escapes as they are written", () => {
    const raws = ["9007199254740993", "1e400", "-0", "1.0", "1E+2", String.raw`"\ud800 \u0041\/"`, "null"];
    const text = `{ ${raws.map((raw, index) => `"k${index}" :\t${raw}`).join(" ,\r\n ")} }`;
    expect(scanObject(text).members.map((member) => member.raw)).toEqual(raws);
  });

  it("removes white space outside strings and none inside", () => {
    const text = ' { "a b" : [ 1 , { "c" : " d  e " } , [ ] , { } ] , "f" : { "g" : 1 } } \n';
    expect(minifyObject(text)).toBe('{"a b":[1,{"c":" d  e "},[],{}],"f":{"g":1}}');
    expect(scanObject(text).members[0]?.raw).toBe('[1,{"c":" d  e "},[],{}]');
  });

  it("decodes keys and keeps how they were written", () => {
    expect(scanObject(String.raw`{"\u0061\n":1}`).members).toEqual([
      { key: "a\n", rawKey: String.raw`"\u0061\n"`, raw: "1" },
    ]);
  });

  it.each([
    "",
    " ",
    "{",
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    "{,}",
    "{a:1}",
    "{'a':1}",
    '{"a":1}x',
    '{"a":1}{}',
  ])("refuses %j as no JSON", (text) => expect(ruleOf(text)).toBe("syntax"));

  it.each([
    "01",
    "+1",
    "1.",
    ".5",
    "1e",
    "-",
    "0x1",
    "NaN",
    "tru",
    "nul",
    "truefalse",
    "[1,]",
    "[1 2]",
    "[}",
    '"\u0001"',
  ])("refuses the value %j", (value) => expect(ruleOf(`{"a":${value}}`)).toBe("syntax"));

  it.each([String.raw`"\x41"`, String.raw`"\u12g4"`, String.raw`"\u12`, '"\\', '"open', '"\ud800"', '"a\udc00"'])(
    "refuses the string %j",
    (value) => expect(ruleOf(`{"a":${value}}`)).toBe("syntax"),
  );

  it("refuses white space that JSON doesn't know", () => {
    for (const space of ["\u00a0", "\ufeff", "\u2028", "\v", "\f", "\0"]) expect(ruleOf(`{${space}}`)).toBe("syntax");
  });

  it.each(["[]", "1", '"{}"', "null", " true ", "[".repeat(200_000) + "]".repeat(200_000)])(
    "says of other JSON that it is no object",
    (text) => expect(ruleOf(text)).toBe("object"),
  );

  it.each([
    '{"a":1,"a":2}',
    String.raw`{"a":1,"\u0061":2}`,
    '{"x":[{"b":1,"b":1}]}',
    '{"__proto__":1,"__proto__":2}',
    `{${Array.from({ length: 40 }, (_, i) => `"k${i}":0`).join()},"k3":1}`,
  ])("refuses the repeated key in %s", (text) => expect(ruleOf(text)).toBe("duplicate_key"));

  it("allows the same key in different objects, and names of Object's own", () => {
    const text = '{"a":{"a":1},"__proto__":[{"a":1},{"a":2}],"constructor":0,"toString":1,"":2}';
    expect(minifyObject(text)).toBe(text);
  });

  it("counts its own object as depth 1", () => {
    expect(ruleOf(nested(32))).toBe("none");
    expect(ruleOf(nested(33))).toBe("depth");
    expect(ruleOf('{"a":[[1]]}', { maxDepth: 2 })).toBe("depth");
    expect(ruleOf('{"a":[1]}', { maxDepth: 2 })).toBe("none");
  });

  it("takes text nested 200,000 deep without a deep stack", () => {
    const text = nested(200_000);
    expect(ruleOf(text)).toBe("depth");
    expect(scanObject(text, { lenient: true }).members[0]?.raw.length).toBe(text.length - 6);
    expect(ruleOf('{"a":'.repeat(200_000), { lenient: true })).toBe("syntax");
  });

  it("reads a line of an older writer, whose last value of a key counts", () => {
    const { members } = scanObject('{"id":"1","meta":{"x":1,"x":2},"id":"2"}', { lenient: true });
    expect(members.map(({ key, raw }) => [key, raw])).toEqual([
      ["id", '"2"'],
      ["meta", '{"x":1,"x":2}'],
    ]);
  });

  it("agrees with JSON.parse on what is an object and what it holds", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue()),
        fc.constantFrom("", " ", "\n\t"),
        (value, space) => {
          const text = spaced(value, space);
          expect(minifyObject(text, { maxDepth: 100 })).toBe(JSON.stringify(JSON.parse(text)));
          const { members } = scanObject(text, { maxDepth: 100 });
          expect(members.map(({ key, raw }) => [key, JSON.parse(raw)])).toEqual(Object.entries(JSON.parse(text)));
          expect(joinMembers(members)).toBe(JSON.stringify(JSON.parse(text)));
        },
      ),
    );
  });

  it("refuses exactly what JSON.parse refuses", () => {
    const token = fc.constantFrom(..."{}[],:", '"a"', '"b"', "1", "-0.5e3", "true", "null", " ", "x", "\\", '"', "0");
    const nearlyJson = fc.array(token, { maxLength: 9 }).map((tokens) => `{"k":${tokens.join("")}}`);
    fc.assert(
      fc.property(nearlyJson, (text) => {
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        expect(ruleOf(text, { lenient: true })).toBe(valid ? "none" : "syntax");
      }),
      { numRuns: 20_000 },
    );
  });
});
