import { expect } from "vitest";
import type { HostileCase } from "./hostile-case.js";
import { kept, raw, refused } from "./hostile-entries.js";

const KEY = "Metas";
const MAX_BYTES = 65_536;
const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
const ofBytes = (bytes: number): string => `{"a":"${"x".repeat(bytes - 8)}"}`;
const bad = (input: string, metaJson: string): HostileCase => refused(KEY, input, { metaJson }, "META_INVALID");
const good = (input: string, metaJson: string): HostileCase => kept(KEY, input, { metaJson });

/** What PatchMeta is sent for an entry with the meta `{"a":1}`. */
function patch(input: string, patchJson: string, reason: string, removeKeys: string[] = []): HostileCase {
  return {
    field: KEY,
    input,
    calls: "PatchMeta",
    answer: `INVALID_ARGUMENT ${reason}`,
    act: async ({ api, owner }) => {
      await api.remember(owner, { id: "a", metaJson: '{"a":1}' });
      return [() => api.memory.patchMeta({ owner, id: "a", patchJson, removeKeys })];
    },
  };
}

export const metaCases: readonly HostileCase[] = [
  bad("an array", "[]"),
  bad("`null`", "null"),
  bad("a number", "1"),
  bad("a key twice", '{"a":1,"a":2}'),
  bad("a key twice, once as an escape", '{"a":1,"\\u0061":2}'),
  bad("`__proto__` twice", '{"__proto__":1,"__proto__":2}'),
  bad("depth 33", nested(33)),
  bad("depth 60,000", `{"a":${"[".repeat(60_000)}`),
  bad("64 KiB and a byte", ofBytes(MAX_BYTES + 1)),
  bad("`NaN`", '{"a":NaN}'),
  bad("`Infinity`", '{"a":-Infinity}'),
  bad("something behind the object", '{"a":1} x'),
  bad("two objects", "{}{}"),
  bad("a byte order mark", '\ufeff{"a":1}'),
  bad("a newline in a string", '{"a":"\n"}'),
  raw(KEY, "bytes that are no UTF-8", "metaJson", Buffer.from('{"a":"\xff"}', "latin1")),
  good("depth 32", nested(32)),
  good("64 KiB", ofBytes(MAX_BYTES)),
  good("numbers that no double holds", '{"a":9007199254740993,"b":1e999,"c":-0,"d":0.10}'),
  good("half a surrogate pair, as an escape", '{"a":"\\ud800"}'),
  {
    ...good("a key `__proto__`", '{"__proto__":{"polluted":true},"constructor":{"prototype":1}}'),
    act: (scene) => [
      async () => {
        const metaJson = '{"__proto__":{"polluted":true},"constructor":{"prototype":1}}';
        const { id } = await scene.api.remember(scene.owner, { metaJson });
        const patched = await scene.api.memory.patchMeta({
          owner: scene.owner,
          id,
          patchJson: '{"__proto__":{"polluted":2}}',
        });
        expect(patched.entry?.metaJson).toBe('{"__proto__":{"polluted":2},"constructor":{"prototype":1}}');
        expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      },
    ],
    calls: "Remember, PatchMeta",
  },
  patch("no object", "[1]", "META_INVALID"),
  patch("a key both set and removed", '{"b":1}', "FIELD_INVALID", ["b"]),
  patch(
    "1,001 keys to remove",
    "",
    "FIELD_INVALID",
    Array.from({ length: 1001 }, (_, i) => `k${i}`),
  ),
  patch("a result over 64 KiB", `{"b":"${"x".repeat(MAX_BYTES - 8)}"}`, "META_INVALID"),
];
