import { ReverieError } from "@reverie/service-kit/errors";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readImportLine } from "../src/domain/import-line.js";
import { LineSplitter } from "../src/domain/line-splitter.js";

function split(chunks: readonly Uint8Array[], maxBytes = 100): (string | undefined)[] {
  const splitter = new LineSplitter(maxBytes);
  const lines: (string | undefined)[] = [];
  for (const chunk of chunks) for (const line of splitter.push(chunk)) lines.push(line?.toString("latin1"));
  for (const line of splitter.end()) lines.push(line?.toString("latin1"));
  return lines;
}

const bytes = (text: string): Buffer => Buffer.from(text, "latin1");

describe("the line splitter", () => {
  it("cuts at newlines only, wherever chunks end", () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.constantFrom(0x0a, 0x0d, 0x61, 0x85, 0xe2), { maxLength: 30 })), (parts) => {
        const all = bytes(parts.map((part) => String.fromCharCode(...part)).join(""));
        const expected = all.toString("latin1").split("\n");
        if (expected.at(-1) === "") expected.pop();
        expect(
          split(
            parts.map((part) => Uint8Array.from(part)),
            1000,
          ),
        ).toEqual(expected);
      }),
    );
  });

  it("drops a line that is too long and goes on with the next", () => {
    expect(split([bytes("abcd\nabcde\nab"), bytes("cde"), bytes("fgh\nx\n"), bytes("abc"), bytes("def")], 4)).toEqual([
      "abcd",
      undefined,
      undefined,
      "x",
      undefined,
    ]);
  });

  it("does not grow with a line that never ends", () => {
    const splitter = new LineSplitter(1 << 20);
    const chunk = Buffer.alloc(1 << 16, 0x61);
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 4096; i++) expect([...splitter.push(chunk)]).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 << 20);
    expect([...splitter.push(bytes("\nok\n"))].map(String)).toEqual(["undefined", "ok"]);
  });

  it("takes a long line byte by byte in linear time", () => {
    const one = bytes("a");
    const splitter = new LineSplitter(1 << 20);
    const started = performance.now();
    for (let i = 0; i < 300_000; i++) for (const _ of splitter.push(one)) expect.unreachable();
    expect([...splitter.end()][0]?.length).toBe(300_000);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("a line of an import", () => {
  const read = (line: string | Buffer) => readImportLine(Buffer.from(line));

  it("gives id, kind, text, ts and the meta as it is written, and nothing else", () => {
    const line = String.raw`{"id":"a","kind":"semantic","text":"\u00e9 x","ts":5,"meta":{ "n": 1.50 },"seq":9,"ord":1,"late":true,"meta0":"00","was":{"at":0,"len":1},"crc":123}`;
    expect(read(line)).toEqual({ id: "a", kind: "semantic", text: "é x", ts: 5, meta: '{"n":1.50}' });
  });

  it("may lack id, ts and meta", () => {
    const expected = { id: "", kind: "working", text: "t", ts: undefined, meta: "" };
    expect(read('{"kind":"working","text":"t"}')).toEqual(expected);
    expect(read('{"id":null,"ts":null,"meta":null,"kind":"working","text":"t"}\r')).toEqual(expected);
  });

  it("loses fractions of a millisecond", () => {
    expect(read('{"kind":"working","text":"t","ts":5.75}')).toMatchObject({ ts: 5 });
  });

  it.each([
    "",
    "  \t\r",
    '{"head":{"seq":5,"floor":0},"crc":1}',
    '{"forget":"a","hash":"00","seq":5,"crc":1}',
    '{"cleared":[],"seq":5,"crc":1}',
  ])("like %j holds no entry and is passed over", (line) => {
    expect(read(line)).toBeUndefined();
  });

  it("whose text is about forgetting is an entry", () => {
    expect(read('{"forget":1,"kind":"working","text":"t"}')).toMatchObject({ text: "t" });
  });

  it.each([
    ['{"id":"a","text":"t"}', "a", "kind"],
    ['{"id":"a","text":"t","kind":"Semantic"}', "a", "kind"],
    ['{"id":"a","text":"t","kind":1}', "a", "kind"],
    ['{"id":"a","kind":"working"}', "a", "text"],
    ['{"id":"a","kind":"working","text":["t"]}', "a", "text"],
    ['{"id":7,"kind":"working","text":"t"}', "", "id"],
    ['{"id":"a","kind":"working","text":"t","ts":"now"}', "a", "ts"],
    ["not json", "", "line"],
    ['["a"]', "", "line"],
    ['{"id":"a","kind":"working","text":"t"', "", "line"],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "", "line"],
  ])("like %s is refused with its id", (line, id, field) => {
    const result = read(line);
    if (result === undefined || !("error" in result)) return expect.unreachable();
    expect(result.id).toBe(id);
    expect(result.error).toBeInstanceOf(ReverieError);
    expect(result.error).toMatchObject({ reason: "FIELD_INVALID", violations: [{ field }] });
  });
});
