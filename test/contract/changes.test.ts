import { Code } from "@connectrpc/connect";
import { Kind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract } from "./support/contract.js";
import { failureOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";

contract("Forget", (api) => {
  it("erases one entry", async () => {
    const owner = api.owner();
    await api.remember(owner, { id: "a" });
    const b = await api.remember(owner, { id: "b" });
    const answer = await api.memory.forget({ owner, id: "a" });
    expect(answer).toMatchObject({ found: true, copies: 1 });
    expect(answer.seq).toBeGreaterThan(b.seq);
    expect(await failureOf(api.memory.getEntry({ owner, id: "a" }))).toMatchObject({ reason: "ENTRY_NOT_FOUND" });
    expect((await recall(api, owner)).entries).toEqual([b]);
    expect((await api.memory.listEntries({ owner, minSeq: answer.seq })).entries).toEqual([b]);
  });

  it("of an unknown id is no error and no change", async () => {
    const owner = api.owner();
    expect(await api.memory.forget({ owner, id: "a" })).toMatchObject({ found: false, copies: 0, seq: 0n });
    expect((await api.owners.describe({ owner })).exists).toBe(false);
    const { seq } = await api.remember(owner, { id: "a" });
    expect(await api.memory.forget({ owner, id: "b" })).toMatchObject({ found: false, copies: 0, seq });
    const gone = await api.memory.forget({ owner, id: "a" });
    expect(await api.memory.forget({ owner, id: "a" })).toMatchObject({ found: false, seq: gone.seq });
  });

  it("takes no id beyond 4,096 bytes; an empty one is nobody's", async () => {
    const owner = api.owner();
    expect(await failureOf(api.memory.forget({ owner, id: "x".repeat(4_097) }))).toMatchObject({
      code: Code.InvalidArgument,
      fields: ["id"],
    });
    await api.remember(owner);
    expect(await api.memory.forget({ owner })).toMatchObject({ found: false });
    expect(await api.memory.patchMeta({ owner, patchJson: '{"a":1}' })).toMatchObject({ found: false });
    expect((await recall(api, owner)).texts).toHaveLength(1);
  });
});

contract("PatchMeta", (api) => {
  it.each([
    [
      "sets keys, and leaves the others as they were written",
      '{"a":1.0,"b":[1],"c":1e400}',
      '{"b":2,"d":0.10}',
      [],
      '{"a":1.0,"b":2,"c":1e400,"d":0.10}',
    ],
    ["replaces a whole value", '{"a":{"b":1,"c":2}}', '{"a":{"b":3}}', [], '{"a":{"b":3}}'],
    ["removes keys", '{"a":1,"b":2,"c":3}', "", ["a", "c", "nothing"], '{"b":2}'],
    ["sets and removes", '{"a":1,"b":2}', ' { "b" : 3 } ', ["a"], '{"b":3}'],
    ["sets null", '{"a":1}', '{"a":null}', [], '{"a":null}'],
    ["gives meta to an entry without", "", '{"键":9007199254740993}', [], '{"键":9007199254740993}'],
    ["finds a key by its meaning", '{"\\u0061":1,"b":2}', "", ["a"], '{"b":2}'],
    ["has no special keys", '{"a":1}', '{"__proto__":{"x":1}}', [], '{"a":1,"__proto__":{"x":1}}'],
    ["removes what sets a prototype", '{"__proto__":1,"a":2}', "", ["__proto__"], '{"a":2}'],
  ])("%s", async (_, metaJson, patchJson, removeKeys, expected) => {
    const owner = api.owner();
    const before = await api.remember(owner, { id: "a", tsMs: 7n, metaJson });
    const answer = await api.memory.patchMeta({ owner, id: "a", patchJson, removeKeys });
    expect(answer).toMatchObject({
      found: true,
      copies: 1,
      entry: { id: "a", tsMs: 7n, text: "hello", metaJson: expected },
    });
    expect(answer.seq).toBeGreaterThan(before.seq);
    expect(answer.entry?.seq).toBe(answer.seq);
    expect((await api.memory.getEntry({ owner, id: "a" })).entry).toEqual(answer.entry);
    expect((await recall(api, owner)).entries).toEqual([answer.entry]);
  });

  it("of an unknown id is no error", async () => {
    const owner = api.owner();
    const unknown = { owner, id: "a", patchJson: '{"a":1}' };
    const answer = await api.memory.patchMeta(unknown);
    expect(answer).toMatchObject({ found: false, copies: 0, seq: 0n });
    expect(answer.entry).toBeUndefined();
    expect((await api.owners.describe({ owner })).exists).toBe(false);
    const { seq } = await api.remember(owner, { id: "a" });
    await api.memory.forget({ owner, id: "a" });
    const after = await api.memory.patchMeta(unknown);
    expect(after.found).toBe(false);
    expect(after.seq).toBeGreaterThan(seq);
  });

  it.each([
    ["an array", "[]", "object"],
    ["bad syntax", "{", "syntax"],
    ["a repeated key", '{"a":1,"a":2}', "duplicate_key"],
    ["depth 33", `${'{"a":'.repeat(33)}1${"}".repeat(33)}`, "depth"],
    ["more than 64 KiB", `{"a":"${"x".repeat(65_536)}"}`, "size"],
    ["what is too large together with the rest", `{"c":"${"x".repeat(40_000)}"}`, "size"],
  ])("refuses a patch of %s", async (_, patchJson, rule) => {
    const owner = api.owner();
    const before = await api.remember(owner, { id: "a", metaJson: `{"b":"${"y".repeat(40_000)}"}` });
    expect(await failureOf(api.memory.patchMeta({ owner, id: "a", patchJson }))).toMatchObject({
      code: Code.InvalidArgument,
      reason: "META_INVALID",
      metadata: { rule },
    });
    expect(await api.memory.getEntry({ owner, id: "a" })).toMatchObject({ entry: before, seq: before.seq });
  });

  it("refuses a key that is both set and removed, however it is written", async () => {
    const owner = api.owner();
    await api.remember(owner, { id: "a" });
    for (const patchJson of ['{"b":1}', '{"\\u0062":1}']) {
      const failure = await failureOf(api.memory.patchMeta({ owner, id: "a", patchJson, removeKeys: ["b"] }));
      expect(failure).toMatchObject({ code: Code.InvalidArgument, reason: "FIELD_INVALID", fields: ["remove_keys"] });
    }
  });

  it("removes up to 1,000 different keys", async () => {
    const owner = api.owner();
    const keys = Array.from({ length: 1_001 }, (_, n) => `k${n}`);
    await api.remember(owner, { id: "a", metaJson: JSON.stringify(Object.fromEntries(keys.map((key) => [key, 1]))) });
    const { entry } = await api.memory.patchMeta({ owner, id: "a", removeKeys: keys.slice(0, 1_000) });
    expect(entry?.metaJson).toBe('{"k1000":1}');
    for (const removeKeys of [keys, ["a", "b", "a"]]) {
      expect(await failureOf(api.memory.patchMeta({ owner, id: "a", removeKeys }))).toMatchObject({
        reason: "FIELD_INVALID",
        fields: ["remove_keys"],
      });
    }
  });
});

contract("Clear", (api) => {
  const kinds = [Kind.EPISODIC, Kind.SEMANTIC, Kind.WORKING];

  it("erases the kinds named", async () => {
    const owner = api.owner();
    await api.rememberAll(
      owner,
      [...kinds, Kind.EPISODIC].map((kind, n) => ({ kind, text: `t${n}` })),
    );
    const answer = await api.memory.clear({ owner, kinds: [Kind.EPISODIC, Kind.WORKING, Kind.EPISODIC] });
    expect(answer.removed).toBe(3n);
    expect(await recall(api, owner, { minSeq: answer.seq })).toMatchObject({
      texts: ["t1"],
      summary: { seq: answer.seq },
    });
  });

  it("erases the whole owner when asked", async () => {
    const owner = api.owner();
    const seq = await api.rememberAll(
      owner,
      kinds.map((kind) => ({ kind })),
    );
    const answer = await api.memory.clear({ owner, all: true });
    expect(answer.removed).toBe(3n);
    expect(answer.seq).toBeGreaterThan(seq);
    expect((await recall(api, owner)).texts).toEqual([]);
    expect((await api.memory.clear({ owner, all: true })).removed).toBe(0n);
    expect((await api.remember(owner, { text: "new" })).seq).toBeGreaterThan(answer.seq);
  });

  it("erases kinds that the config doesn't allow", async () => {
    const owner = api.owner();
    await api.remember(owner, { kind: Kind.WORKING });
    await api.owners.attach({ owner, config: { allowedKinds: [Kind.SEMANTIC] } });
    expect((await api.memory.clear({ owner, kinds: [Kind.WORKING] })).removed).toBe(1n);
  });

  it("of an owner that doesn't exist removes nothing", async () => {
    const owner = api.owner();
    expect(await api.memory.clear({ owner, all: true })).toMatchObject({ removed: 0n, seq: 0n });
    expect((await api.owners.describe({ owner })).exists).toBe(false);
  });

  it("must be told what: kinds or all, not both", async () => {
    const owner = api.owner();
    await api.remember(owner);
    for (const request of [{ owner }, { owner, kinds: [Kind.EPISODIC], all: true }]) {
      const failure = await failureOf(api.memory.clear(request));
      expect(failure).toMatchObject({ code: Code.InvalidArgument, reason: "FIELD_INVALID" });
      expect(failure.violations).toHaveLength(1);
      expect(failure.message).toContain("The request is invalid: name the kinds to clear, or set all: true");
    }
    expect((await recall(api, owner)).texts).toHaveLength(1);
  });
});
