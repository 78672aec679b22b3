import { Code } from "@connectrpc/connect";
import { ErrorReason } from "@reverie/proto/info";
import { Kind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract, newEntry, stream } from "./support/contract.js";
import { failureOf, failuresOf } from "./support/failure.js";

const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => newEntry({ id: `e${from + n}`, text: `text ${from + n}`, tsMs: 1_000n }));

contract("RememberMany", (api) => {
  it("stores what comes in several messages, in their order", async () => {
    const owner = api.owner();
    const answer = await api.memory.rememberMany(
      stream(
        { owner, entries: numbered(0, 3) },
        { entries: [] },
        { entries: numbered(3, 900) },
        { owner, entries: numbered(903, 700) },
      ),
    );
    expect(answer).toMatchObject({ stored: 1603n, alreadyStored: 0n, received: 1603n, refused: [], stopped: false });
    expect(answer.lastSeq - answer.firstSeq).toBe(1602n);
    const oldestFirst = { owner, order: 2, pageSize: 500 } as const;
    const { entries, seq } = await api.memory.listEntries(oldestFirst);
    expect(entries.map((entry) => entry.id)).toEqual(numbered(0, 500).map((entry) => entry.id));
    expect([entries[0]?.seq, seq]).toEqual([answer.firstSeq, answer.lastSeq]);
  });

  it("takes messages of almost 4 MiB", async () => {
    const owner = api.owner();
    const large = (n: number) => ({
      owner,
      entries: [0, 1, 2].map((m) => newEntry({ text: `${n} ${m}`.padEnd(1_048_576, "x") })),
    });
    expect(await api.memory.rememberMany(stream(large(1), large(2), large(3)))).toMatchObject({
      stored: 9n,
      refused: [],
    });
  });

  it("goes on after refused items, and says which and why", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner, config: { allowedKinds: [Kind.EPISODIC, Kind.SEMANTIC] } });
    await api.remember(owner, { id: "live" });
    await api.remember(owner, { id: "gone" });
    await api.memory.forget({ owner, id: "gone" });
    const long = "é".repeat(100);
    const answer = await api.memory.rememberMany(
      stream(
        {
          owner,
          entries: [
            newEntry({ id: "a" }),
            newEntry({ id: "empty", text: "" }),
            newEntry({ id: "live" }),
            newEntry({ id: "live", text: "other" }),
            newEntry({ id: "meta", metaJson: "[]" }),
          ],
        },
        {
          entries: [
            newEntry({ id: "gone" }),
            newEntry({ id: long }),
            newEntry({ id: "kindless", kind: Kind.UNSPECIFIED }),
            newEntry({ id: "working", kind: Kind.WORKING }),
            newEntry({ id: "early", tsMs: -1n }),
            newEntry({ id: "a" }),
            newEntry({ id: "b" }),
          ],
        },
      ),
    );
    expect(answer).toMatchObject({ stored: 2n, alreadyStored: 2n, received: 12n, stopped: false });
    expect(answer.refused.map(({ index, id, reason }) => [Number(index), id, ErrorReason[reason]])).toEqual([
      [1, "empty", "TEXT_INVALID"],
      [3, "live", "ENTRY_EXISTS"],
      [4, "meta", "META_INVALID"],
      [5, "gone", "ENTRY_FORGOTTEN"],
      [6, "é".repeat(64), "ENTRY_ID_INVALID"],
      [7, "kindless", "FIELD_INVALID"],
      [8, "working", "KIND_NOT_ALLOWED"],
      [9, "early", "FIELD_INVALID"],
    ]);
    for (const { message } of answer.refused) expect(message).toMatch(/\S/);
    const { entries } = await api.memory.listEntries({ owner });
    expect(new Set(entries.map((entry) => entry.id))).toEqual(new Set(["live", "a", "b"]));
    expect([answer.firstSeq, answer.lastSeq]).toEqual(
      ["a", "b"].map((id) => entries.find((entry) => entry.id === id)?.seq),
    );
  });

  it("answers with seqs of 0 when nothing was stored", async () => {
    const owner = api.owner();
    const entries = numbered(0, 2);
    await api.memory.rememberMany(stream({ owner, entries }));
    expect(await api.memory.rememberMany(stream({ owner, entries }))).toMatchObject({
      stored: 0n,
      alreadyStored: 2n,
      firstSeq: 0n,
      lastSeq: 0n,
    });
    expect(await api.memory.rememberMany(stream({ owner, entries: [] }))).toMatchObject({ stored: 0n, received: 0n });
  });

  it("makes ids where none are sent", async () => {
    const owner = api.owner();
    await api.memory.rememberMany(stream({ owner, entries: [newEntry({}), newEntry({})] }));
    const ids = (await api.memory.listEntries({ owner })).entries.map((entry) => entry.id);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[0-9a-z]{8,}-[a-z0-9]{6}$/);
  });

  it("stops after 1,000 refusals", async () => {
    const owner = api.owner();
    const bad = Array.from({ length: 400 }, (_, n) => newEntry({ id: `bad${n}`, text: "" }));
    const answer = await api.memory.rememberMany(
      stream(
        { owner, entries: [newEntry({ id: "before" }), ...bad] },
        { entries: bad },
        { entries: [...bad, newEntry({ id: "after" })] },
        { entries: bad },
      ),
    );
    expect(answer).toMatchObject({ stored: 1n, stopped: true, received: 1001n });
    expect(answer.refused.map(({ index }) => Number(index))).toEqual(Array.from({ length: 1_000 }, (_, n) => n + 1));
    expect((await api.memory.listEntries({ owner })).entries.map((entry) => entry.id)).toEqual(["before"]);
  });

  it("needs the owner in the first message", async () => {
    const calls = [
      api.memory.rememberMany(stream()),
      api.memory.rememberMany(stream({ entries: numbered(0, 1) })),
      api.memory.rememberMany(stream({ entries: [] }, { owner: api.owner(), entries: numbered(0, 1) })),
    ];
    for (const failure of await failuresOf(calls)) {
      expect(failure).toMatchObject({
        code: Code.InvalidArgument,
        reason: "FIELD_INVALID",
        fields: ["owner"],
      });
    }
  });

  it("is for one owner", async () => {
    const [one, other] = [api.owner(), api.owner()];
    const call = api.memory.rememberMany(
      stream({ owner: one, entries: numbered(0, 1) }, { owner: other, entries: numbered(1, 1) }),
    );
    expect(await failureOf(call)).toMatchObject({
      code: Code.InvalidArgument,
      reason: "FIELD_INVALID",
      fields: ["owner"],
    });
    expect((await api.owners.describe({ owner: other })).exists).toBe(false);
  });

  it("checks the owner as every call does", async () => {
    const refused = (kind: number, id: string) =>
      failureOf(api.memory.rememberMany(stream({ owner: { kind, id }, entries: numbered(0, 1) })));
    expect(await refused(1, "../x")).toMatchObject({ reason: "OWNER_ID_INVALID" });
    expect(await refused(0, "")).toMatchObject({ reason: "FIELD_INVALID", fields: ["owner.kind", "owner.id"] });
  });
});
