import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { contract } from "./support/contract.js";
import { failureOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";

const MAX_BYTES = 65_536;

const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
const nestedArrays = (depth: number): string => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
const ofBytes = (bytes: number): string => `{"a":"${"x".repeat(bytes - 8)}"}`;

contract("meta", (api) => {
  it.each([
    ["no keys", "{}"],
    ["2^53 + 1", '{"n":9007199254740993}'],
    ["a number beyond doubles", '{"n":1e400,"m":-1E-999}'],
    ["numbers as they were written", '{"a":-0,"b":1.0,"c":1E+2,"d":0.10,"e":123456789012345678901234567890}'],
    ["a key that sets a prototype", '{"__proto__":{"a":1},"constructor":1}'],
    ["Chinese keys and emoji", '{"键":"值","👩‍👩‍👧‍👦":["é","e\u0301"]}'],
    ["escapes as they were written", '{"\\u0061":"\\u0041\\n\\/\\ud83d\\ude00","b":"\\ud800"}'],
    ["a byte order mark in a string", '{"a":"\ufeff"}'],
    ["white space inside strings", '{"a  b":"c \u3000 d"}'],
    ["line separators", '{"a":"\u2028\u2029"}'],
    ["all types", '{"a":null,"b":true,"c":false,"d":[],"e":{},"f":"","g":[[{"h":[1,2]}]]}'],
    ["keys out of order", '{"b":1,"a":2,"10":3,"9":4}'],
    ["the same key in different objects", '{"a":{"a":1},"b":{"a":2}}'],
    ["depth 32", nested(32)],
    ["depth 32 of arrays", nestedArrays(32)],
    ["64 KiB", ofBytes(MAX_BYTES)],
  ])("with %s comes back as it went", async (_, metaJson) => {
    const owner = api.owner();
    expect((await api.remember(owner, { id: "a", metaJson })).metaJson).toBe(metaJson);
    expect((await api.memory.getEntry({ owner, id: "a" })).entry?.metaJson).toBe(metaJson);
    expect((await recall(api, owner)).entries[0]?.metaJson).toBe(metaJson);
    expect((await api.memory.listEntries({ owner })).entries[0]?.metaJson).toBe(metaJson);
  });

  it("loses white space outside strings, and nothing else", async () => {
    const metaJson = ' {\t"a" :\r\n [ 1 , 2.0 ] , "b c" : { "d" : "e  f" } } \n';
    const stored = await api.remember(api.owner(), { metaJson });
    expect(stored.metaJson).toBe('{"a":[1,2.0],"b c":{"d":"e  f"}}');
  });

  it("that is empty stays empty", async () => {
    expect((await api.remember(api.owner(), { metaJson: "" })).metaJson).toBe("");
  });

  it.each([
    ["an array", "[]", "object"],
    ["a string", '"a"', "object"],
    ["null", "null", "object"],
    ["a number", "1", "object"],
    ["depth 33", nested(33), "depth"],
    ["depth 33 of arrays", nestedArrays(33), "depth"],
    ["depth 100,000 within 64 KiB", `{"a":${"[".repeat(65_000)}`, "depth"],
    ["a repeated key", '{"a":1,"a":2}', "duplicate_key"],
    ["a repeated key deep inside", '{"a":[{"b":{"c":1,"d":2,"c":3}}]}', "duplicate_key"],
    ["a key repeated by an escape", '{"a":1,"\\u0061":2}', "duplicate_key"],
    ["__proto__ twice", '{"__proto__":1,"__proto__":2}', "duplicate_key"],
    ["64 KiB and a byte", ofBytes(MAX_BYTES + 1), "size"],
    ["64 KiB and a byte in fewer characters", `{"a":"${"é".repeat(32_764)}x"}`, "size"],
    ["no end", '{"a":1', "syntax"],
    ["an unquoted key", "{a:1}", "syntax"],
    ["single quotes", "{'a':1}", "syntax"],
    ["a trailing comma", '{"a":1,}', "syntax"],
    ["a leading zero", '{"a":01}', "syntax"],
    ["NaN", '{"a":NaN}', "syntax"],
    ["a bare plus", '{"a":+1}', "syntax"],
    ["a newline inside a string", '{"a":"\n"}', "syntax"],
    ["NUL inside a string", '{"a":"\0"}', "syntax"],
    ["an unknown escape", '{"a":"\\x41"}', "syntax"],
    ["two objects", '{"a":1}{"b":2}', "syntax"],
    ["a comment", '{"a":1/**/}', "syntax"],
    ["a no-break space between tokens", '{"a":\u00a01}', "syntax"],
    ["a byte order mark first", '\ufeff{"a":1}', "syntax"],
    ["white space alone", " \n", "syntax"],
  ])("with %s is refused, and nothing is stored", async (_, metaJson, rule) => {
    const owner = api.owner();
    expect(await failureOf(api.remember(owner, { metaJson }))).toMatchObject({
      code: Code.InvalidArgument,
      reason: "META_INVALID",
      metadata: { rule },
    });
    expect(await api.owners.describe({ owner })).toMatchObject({ exists: false, items: [], seq: 0n });
  });
});
