import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeAny, decodeLine, encodeEntry } from "../../src/store/jsonl/line.js";

const usual = { id: "id-1", kind: "episodic", text: "a text", ts: 17, meta: "", seq: 3, ord: 3, late: false } as const;

/** A line as somebody may have spelled it, with its checksum. */
function sealed(open: string): Buffer {
  return Buffer.from(`${open},"crc":${crc32(open)}}`);
}

describe("decodeLine", () => {
  it("says of a usual line what it says of any other", () => {
    const metas = [
      "",
      "{}",
      '{"a":"b"}',
      '{"a":1,"b":true,"c":null}',
      '{"a":{"b":[1]}}',
      '{"a":-1.5e3}',
      '{"a":"\\n"}',
    ];
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 20 }),
        fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), fc.lorem()),
        fc.nat({ max: 2 ** 53 - 1 }),
        fc.constantFrom(...metas),
        fc.nat(),
        fc.boolean(),
        (id, text, ts, meta, seq, late) => {
          const encoded = encodeEntry({ ...usual, id, text: text.toWellFormed(), ts, meta, seq, ord: seq, late });
          const line = encoded.subarray(0, -1);
          const { isPlain: _, ...decoded } = decodeLine(line) as ReturnType<typeof decodeLine> & { isPlain?: boolean };
          expect(decoded).toEqual(decodeAny(line));
          expect(decoded).toMatchObject({ type: "entry", id, text: text.toWellFormed(), ts, seq });
        },
      ),
      { seed: 4, numRuns: 2000 },
    );
  });

  it("says of a line with one byte altered what it says of any other", () => {
    const line = encodeEntry({ ...usual, meta: '{"a":"b","n":12}' }).subarray(0, -1);
    for (let at = 0; at < line.length; at++) {
      for (const byte of [0x00, 0x20, 0x22, 0x2c, 0x30, 0x39, 0x5c, 0x7d, 0x80, line[at] ^ 1]) {
        if (byte === line[at]) continue;
        const altered = Buffer.from(line);
        altered[at] = byte;
        expect(decodeLine(altered), `byte ${at}`).toEqual(decodeAny(altered));
        expect(decodeLine(altered).type, `byte ${at}`).not.toBe("entry");
      }
    }
  });

  it.each([
    ['{"id":"a","kind":"episodic","text":"b\u0001","ts":1,"seq":2', "bad"],
    ['{"id":"a","kind":"episodic","text":"b","ts":01,"seq":2', "bad"],
    ['{"id":"a","kind":"episodic","text":"b","ts":1,"meta":{"a":},"seq":2', "bad"],
    ['{"id":"a","kind":"episodic","text":"b","ts":1,"meta":{"a":"b",},"seq":2', "bad"],
    ['{"id":"a","kind":"episodic","text":"b","ts":1,"seq":2,"late":true', "entry"],
    ['{"id":"a","kind":"episodic","text":"b","ts":-1,"seq":2', "entry"],
    ['{"text":"b","id":"a","ts":1,"seq":2', "entry"],
    [`{"id":"a","kind":"episodic","text":"${"é".repeat(70_000)}","ts":1,"seq":2`, "entry"],
  ])("takes %.70s for what JSON has it for: %s", (open, type) => {
    const line = sealed(open);
    expect(decodeLine(line).type).toBe(type);
    expect(decodeLine(line)).toEqual(decodeAny(line));
  });

  it("knows an escape and a character outside ASCII in a line of its own", () => {
    const isPlain = (text: string): unknown => decodeLine(encodeEntry({ ...usual, text }).subarray(0, -1));
    expect(isPlain("all ASCII")).toHaveProperty("isPlain", true);
    expect(isPlain("é")).toHaveProperty("isPlain", false);
    expect(isPlain("\n")).not.toHaveProperty("isPlain");
  });

  it("takes a checksum only as we spell it", () => {
    // Its checksum has nine digits, so that a zero before it leaves ten.
    const open = Array.from({ length: 1000 }, (_, i) => `{"id":"${i}","text":"","ts":1,"seq":1`).find(
      (made) => crc32(made) < 1e9,
    );
    if (open === undefined) throw new Error("no such line");
    const crc = crc32(open);
    expect(decodeLine(Buffer.from(`${open},"crc":${crc}}`)).type).toBe("entry");
    for (const spelled of [`0${crc}`, `${crc}.0`, `${crc + 2 ** 32}`, `-${crc}`, `"${crc}"`, ` ${crc}`, `${crc} `, ""])
      expect(decodeLine(Buffer.from(`${open},"crc":${spelled}}`)).type, spelled).toMatch(/stale|bad/);
  });
});
