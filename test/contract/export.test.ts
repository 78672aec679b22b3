import { Kind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract, type OwnerInit } from "./support/contract.js";
import { exported, imported } from "./support/transfer.js";

contract("ExportOwner and ImportOwner", (api) => {
  it.each([1, 7, 100_000])("carry an owner to another as it was, cut every %i bytes", async (messageBytes) => {
    const [from, to] = [api.owner(), api.owner()];
    const entries = [
      {
        id: "a",
        tsMs: 30n,
        text: "line\r\nbreaks\u2028and\0NUL",
        metaJson: '{"n":9007199254740993,"m":1e400,"__proto__":{"键":1.0}}',
      },
      {
        id: 'é\u202e"\\',
        tsMs: 10n,
        text: "\ufeff東京 👩‍👩‍👧‍👦 cafe\u0301",
        kind: Kind.SEMANTIC,
        metaJson: '{"\\u0061":"\\ud800"}',
      },
      { id: "c", tsMs: 20n, text: '"}\\', kind: Kind.WORKING },
      { id: "d", tsMs: 20n, text: "patched", metaJson: '{"a":1}' },
      { id: "e", tsMs: 8_640_000_000_000_000n, text: " ", metaJson: "{}" },
    ];
    for (const entry of entries) await api.remember(from, entry);
    await api.memory.patchMeta({ owner: from, id: "d", patchJson: '{"b":1e3}' });
    const { bytes, lines, summary } = await exported(api, from);
    expect(summary).toMatchObject({ entries: 5n, bytes: BigInt(bytes.length), corruptLinesSkipped: 0n });
    expect(lines).toHaveLength(5);
    const answer = await imported(api, to, bytes, messageBytes);
    expect(answer).toMatchObject({ stored: 5n, alreadyStored: 0n, refused: 0n, refusedItems: [], stopped: false });
    const plain = async (owner: OwnerInit) =>
      (await api.memory.listEntries({ owner })).entries
        .map(({ id, kind, text, tsMs, metaJson }) => [id, kind, text, tsMs, metaJson])
        .sort();
    expect(await plain(to)).toEqual(await plain(from));
    expect(await imported(api, to, bytes)).toMatchObject({ stored: 0n, alreadyStored: 5n, firstSeq: 0n, lastSeq: 0n });
  });

  it("export live entries only, each kind oldest stored first", async () => {
    const owner = api.owner();
    for (const [id, kind] of [
      ["s1", Kind.SEMANTIC],
      ["e1", Kind.EPISODIC],
      ["gone", Kind.EPISODIC],
      ["e2", Kind.EPISODIC],
      ["s2", Kind.SEMANTIC],
    ] as const) {
      await api.remember(owner, { id, kind, tsMs: id === "e1" ? 9n : 1n });
    }
    await api.memory.forget({ owner, id: "gone" });
    const { seq } = await api.memory.patchMeta({ owner, id: "e1", patchJson: '{"a":1}' });
    await api.owners.attach({ owner, config: { allowedKinds: [Kind.WORKING] } });
    const { lines, summary } = await exported(api, owner);
    expect(lines.map((each) => each.id)).toEqual(["e1", "e2", "s1", "s2"]);
    expect(lines[0]).toMatchObject({ kind: "episodic", text: "hello", ts: 9, meta: { a: 1 } });
    expect(summary).toMatchObject({ entries: 4n, seq });
    expect((await exported(api, owner, [Kind.SEMANTIC])).lines.map((each) => each.id)).toEqual(["s1", "s2"]);
  });

  it("export 3 MiB in messages that end at a line's end, the summary last", async () => {
    const owner = api.owner();
    const texts = Array.from({ length: 300 }, (_, n) => `${n} `.padEnd(10_500, "é"));
    await api.rememberAll(
      owner,
      texts.slice(0, 150).map((text) => ({ text })),
    );
    await api.rememberAll(
      owner,
      texts.slice(150).map((text) => ({ text })),
    );
    const { chunks, bytes, lines, summary } = await exported(api, owner);
    expect(bytes.length).toBeGreaterThan(3 * 1_048_576);
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks) {
      expect(chunk.at(-1)).toBe(0x0a);
      expect(chunk.length).toBeLessThanOrEqual(1_048_576);
    }
    expect(lines.map((each) => each.text)).toEqual(texts);
    expect(summary).toMatchObject({ entries: 300n, bytes: BigInt(bytes.length) });
    const to = api.owner();
    expect(await imported(api, to, bytes, 1_000_000)).toMatchObject({ stored: 300n, refused: 0n });
  });

  it("carry lines over 1 MiB, which go on in the next message", async () => {
    const [from, to] = [api.owner(), api.owner()];
    const texts = ["\u0001".repeat(300_000), "a".repeat(1_048_576)];
    // JSON would take six bytes for each of these; one message holds no more than 4 MiB.
    for (const [n, text] of texts.entries()) await api.remember(from, { id: `e${n}`, text });
    const { chunks, bytes, summary } = await exported(api, from);
    expect(summary).toMatchObject({ entries: 2n, bytes: BigInt(bytes.length) });
    expect(bytes.length).toBeGreaterThan(2_800_000);
    for (const chunk of chunks) expect(chunk.length).toBeLessThanOrEqual(1_048_576);
    expect(await imported(api, to, bytes, 700_000)).toMatchObject({ stored: 2n, refused: 0n });
    for (const [n, text] of texts.entries()) {
      expect((await api.memory.getEntry({ owner: to, id: `e${n}` })).entry?.text === text).toBe(true);
    }
  });

  it("export of an owner that doesn't exist is a summary of zeros", async () => {
    const { bytes, summary } = await exported(api, api.owner());
    expect(bytes.length).toBe(0);
    expect(summary).toMatchObject({ entries: 0n, bytes: 0n, seq: 0n });
  });
});
