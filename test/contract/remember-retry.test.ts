import { Code } from "@connectrpc/connect";
import { Kind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { type Api, contract, newEntry, type OwnerInit } from "./support/contract.js";
import { failureOf } from "./support/failure.js";

const first = { kind: Kind.SEMANTIC, text: "blue", id: "a", metaJson: '{"a":1}' };

const others = [
  ["text", { ...first, text: "Blue" }],
  ["kind", { ...first, kind: Kind.WORKING }],
  ["meta", { ...first, metaJson: '{"a":2}' }],
  ["no meta", { ...first, metaJson: "" }],
] as const;

contract("Remember under an id that was used", (api) => {
  it("returns what is stored when everything is the same", async () => {
    const owner = api.owner();
    const stored = await api.memory.remember({ owner, entry: { ...first, tsMs: 5n } });
    const again = await api.memory.remember({ owner, entry: { ...first, tsMs: 5n } });
    expect(again).toMatchObject({ alreadyStored: true, seq: stored.seq, entry: stored.entry });
    expect((await api.memory.listEntries({ owner })).entries).toEqual([stored.entry]);
  });

  it("keeps the first time when the retry has another one, or none", async () => {
    const owner = api.owner();
    const stored = await api.remember(owner, { ...first, tsMs: 5n });
    for (const tsMs of [6n, 0n]) {
      expect(await api.memory.remember({ owner, entry: { ...first, tsMs } })).toMatchObject({
        alreadyStored: true,
        entry: stored,
      });
    }
  });

  it.each(others)("refuses another %s while the entry lives", async (_, other) => {
    const owner = api.owner();
    const stored = await api.remember(owner, first);
    expect(await failureOf(api.remember(owner, other))).toMatchObject({
      code: Code.AlreadyExists,
      reason: "ENTRY_EXISTS",
      metadata: { id: "a" },
    });
    expect(await api.memory.listEntries({ owner })).toMatchObject({ entries: [stored], seq: stored.seq });
  });

  it("stores one of many that come at once", async () => {
    const owner = api.owner();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => api.memory.remember({ owner, entry: { ...first, tsMs: 5n } })),
    );
    expect(answers.filter((answer) => !answer.alreadyStored)).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.entry?.seq)).size).toBe(1);
    expect((await api.memory.listEntries({ owner })).entries).toHaveLength(1);
  });

  it("compares the meta that was sent first, and returns the present one", async () => {
    const owner = api.owner();
    await api.remember(owner, first);
    const { entry: patched } = await api.memory.patchMeta({ owner, id: "a", patchJson: '{"a":2,"b":3}' });
    const again = await api.memory.remember({ owner, entry: first });
    expect(again).toMatchObject({ alreadyStored: true, entry: patched });
    expect(again.entry?.metaJson).toBe('{"a":2,"b":3}');
    expect(await failureOf(api.remember(owner, { ...first, metaJson: '{"a":2,"b":3}' }))).toMatchObject({
      reason: "ENTRY_EXISTS",
    });
  });

  const erasures: [string, (api: Api, owner: OwnerInit) => Promise<unknown>][] = [
    ["Forget", ({ memory }, owner) => memory.forget({ owner, id: "a" })],
    ["Clear of its kind", ({ memory }, owner) => memory.clear({ owner, kinds: [Kind.SEMANTIC] })],
    ["Clear of all", ({ memory }, owner) => memory.clear({ owner, all: true })],
  ];

  it.each(erasures)("doesn't bring back what %s erased", async (_, erase) => {
    const owner = api.owner();
    await api.remember(owner, first);
    await erase(api, owner);
    for (const tsMs of [0n, 9n]) {
      expect(await failureOf(api.remember(owner, { ...first, tsMs }))).toMatchObject({
        code: Code.FailedPrecondition,
        reason: "ENTRY_FORGOTTEN",
        metadata: { id: "a" },
      });
    }
    expect((await api.memory.listEntries({ owner })).entries).toEqual([]);
  });

  it.each(erasures)("stores other content after %s", async (_, erase) => {
    for (const [, other] of others) {
      const owner = api.owner();
      await api.remember(owner, first);
      await erase(api, owner);
      expect(await api.memory.remember({ owner, entry: other })).toMatchObject({ alreadyStored: false, entry: other });
    }
  });

  it.each(erasures)("after %s of a patched entry, knows it by the meta that was sent first", async (_, erase) => {
    const owner = api.owner();
    await api.remember(owner, first);
    await api.memory.patchMeta({ owner, id: "a", patchJson: '{"a":2}' });
    await erase(api, owner);
    expect(await failureOf(api.remember(owner, first))).toMatchObject({ reason: "ENTRY_FORGOTTEN" });
    expect((await api.remember(owner, { ...first, metaJson: '{"a":2}' })).metaJson).toBe('{"a":2}');
  });

  it("remembers every content that was erased under it", async () => {
    const owner = api.owner();
    const texts = ["one", "two", "three"];
    for (const text of texts) {
      await api.remember(owner, { id: "a", text });
      await api.memory.forget({ owner, id: "a" });
    }
    for (const text of texts) {
      expect(await failureOf(api.remember(owner, { id: "a", text }))).toMatchObject({ reason: "ENTRY_FORGOTTEN" });
    }
  });

  it("is another matter for another owner", async () => {
    const [one, other] = [api.owner(), api.owner()];
    await api.remember(one, first);
    await api.memory.forget({ owner: one, id: "a" });
    expect(await api.memory.remember({ owner: other, entry: newEntry(first) })).toMatchObject({ alreadyStored: false });
  });
});
