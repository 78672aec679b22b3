import { ReverieError } from "@reverie/service-kit/errors";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkMeta, metaPatch } from "../src/domain/meta.js";

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (!(error instanceof ReverieError)) throw error;
    return `${error.reason} ${error.metadata.rule ?? error.violations[0]?.field}`;
  }
  return "";
}

const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
const sized = (bytes: number): string => `{"a":"${"x".repeat(bytes - 8)}"}`;

describe("meta", () => {
  it("is kept token for token without white space", () => {
    expect(checkMeta('{ "n": 9007199254740993, "e": 1e400, "z": -0, "s": "a  b" }\n')).toBe(
      '{"n":9007199254740993,"e":1e400,"z":-0,"s":"a  b"}',
    );
    expect(checkMeta("")).toBe("");
    expect(checkMeta("{}")).toBe("{}");
  });

  it.each([
    ["{", "syntax"],
    [" ", "syntax"],
    ["null", "object"],
    ["[]", "object"],
    [nested(33), "depth"],
    ['{"a":{"b":1,"b":2}}', "duplicate_key"],
    [sized(65_537), "size"],
    [`{"a":"${"é".repeat(32_768)}"}`, "size"],
    [`{}${" ".repeat(65_535)}`, "size"],
  ])("like %j is refused", (meta, rule) => {
    expect(refusal(() => checkMeta(meta))).toBe(`META_INVALID ${rule}`);
  });

  it("may have 64 KiB and depth 32", () => {
    expect(checkMeta(sized(65_536)).length).toBe(65_536);
    expect(checkMeta(nested(32))).toBe(nested(32));
  });
});

describe("a patch of meta", () => {
  const patched = (meta: string, patch: string, remove: string[] = []): string => metaPatch(patch, remove)(meta);

  it("replaces top-level keys where they stand and adds new ones at the end", () => {
    expect(patched('{"a":1.0,"b":{"x":1},"c":3}', '{"b": {"y": 2}, "d": 1e400}')).toBe(
      '{"a":1.0,"b":{"y":2},"c":3,"d":1e400}',
    );
  });

  it("removes keys, and misses none that isn't there", () => {
    expect(patched('{"a":1,"b":2}', "", ["a", "zz"])).toBe('{"b":2}');
    expect(patched('{"a":1}', "", ["a"])).toBe("{}");
    expect(patched("", "", ["a"])).toBe("");
  });

  it("knows a key however it is escaped", () => {
    expect(patched(String.raw`{"\u0061":1}`, '{"a":2}')).toBe('{"a":2}');
    expect(patched(String.raw`{"\u0061":1,"\ud800":2}`, '{"__proto__":3}', ["a"])).toBe(
      String.raw`{"\ud800":2,"__proto__":3}`,
    );
  });

  it("makes meta where there was none", () => {
    expect(patched("", '{"a":null}')).toBe('{"a":null}');
  });

  it("changes nothing when nothing is asked", () => {
    expect(patched('{"a":1,"a":2}', "")).toBe('{"a":1,"a":2}');
    expect(patched("", "{}")).toBe("");
  });

  it("may not set and remove one key", () => {
    expect(refusal(() => metaPatch('{"a":1}', ["b", "a"]))).toBe("FIELD_INVALID remove_keys");
  });

  it("keeps the rules itself and lets no result break them", () => {
    expect(refusal(() => metaPatch("[]", []))).toBe("META_INVALID object");
    expect(refusal(() => metaPatch('{"a":1,"a":1}', []))).toBe("META_INVALID duplicate_key");
    expect(refusal(() => patched(sized(60_000), `{"b":"${"x".repeat(10_000)}"}`))).toBe("META_INVALID size");
  });

  it("may mend an older meta that breaks the rules, and not leave it broken", () => {
    const broken = `{"a":${nested(40)},"b":1,"b":2}`;
    expect(patched(broken, "", ["a"])).toBe('{"b":2}');
    expect(refusal(() => patched(broken, '{"c":1}'))).toBe("META_INVALID depth");
  });

  it("means what a shallow merge means", () => {
    const object = fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 6 });
    fc.assert(
      fc.property(object, object, fc.array(fc.string({ maxLength: 3 })), (meta, patch, keys) => {
        const remove = keys.filter((key) => !Object.hasOwn(patch, key));
        const expected = new Map(Object.entries(meta).filter(([key]) => !remove.includes(key)));
        for (const [key, value] of Object.entries(patch)) expected.set(key, value);
        const text = patched(JSON.stringify(meta), JSON.stringify(patch, null, 2), remove);
        const result = JSON.parse(text) as Record<string, unknown>;
        expect(new Map(Object.entries(result))).toEqual(
          new Map([...expected].map(([k, v]) => [k, JSON.parse(JSON.stringify(v))])),
        );
      }),
    );
  });
});
