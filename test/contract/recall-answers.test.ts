import { toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Kind, RecallResponseSchema } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { collect, contract } from "./support/contract.js";
import { failureOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";

const BATCH_BYTES = 65_536;

contract("Recall answers", (api) => {
  it("an owner that doesn't exist with a summary of zeros", async () => {
    const { entries, summary } = await recall(api, api.owner(), { text: "x" });
    expect(entries).toEqual([]);
    expect(summary).toMatchObject({ scanned: 0n, matched: 0n, returned: 0n, truncated: false, seq: 0n });
  });

  it("with 20 entries when k is 0, at most 200, and says that there may be more", async () => {
    const owner = api.owner();
    await api.rememberAll(
      owner,
      Array.from({ length: 210 }, (_, n) => ({ id: `e${n}`, tsMs: BigInt(n + 1) })),
    );
    for (const [k, returned] of [
      [0, 20],
      [1, 1],
      [200, 200],
      [201, 200],
      [2_147_483_647, 200],
    ] as const) {
      const { entries, summary } = await recall(api, owner, { k });
      expect(entries.map((entry) => entry.id)).toEqual(Array.from({ length: returned }, (_, n) => `e${209 - n}`));
      expect(summary).toMatchObject({ returned: BigInt(returned), truncated: true });
      expect(summary.matched).toBeGreaterThanOrEqual(summary.returned);
      expect(summary.scanned).toBeGreaterThanOrEqual(summary.matched);
      expect(summary.scanned).toBeLessThanOrEqual(210n);
    }
    expect(await failureOf(api.memory.recall({ owner, k: -1 }))).toMatchObject({
      code: Code.InvalidArgument,
      reason: "FIELD_INVALID",
      fields: ["k"],
    });
  });

  it("with exact numbers when it looked at everything", async () => {
    const owner = api.owner();
    const seq = await api.rememberAll(
      owner,
      Array.from({ length: 30 }, (_, n) => ({ text: n % 6 === 0 ? `needle ${n}` : `straw ${n}` })),
    );
    const { summary } = await recall(api, owner, { text: "NEEDLE" });
    expect(summary).toMatchObject({
      scanned: 30n,
      matched: 5n,
      returned: 5n,
      truncated: false,
      corruptLinesSkipped: 0n,
      seq,
    });
    expect((await recall(api, owner, { text: "needle", k: 5 })).entries).toHaveLength(5);
  });

  it("newest first; of the same time, latest stored first, across kinds", async () => {
    const owner = api.owner();
    const order = [
      { id: "a", tsMs: 5n, kind: Kind.EPISODIC },
      { id: "b", tsMs: 9n, kind: Kind.WORKING },
      { id: "c", tsMs: 5n, kind: Kind.SEMANTIC },
      { id: "d", tsMs: 1n, kind: Kind.EPISODIC },
      { id: "e", tsMs: 5n, kind: Kind.EPISODIC },
      { id: "f", tsMs: 7n, kind: Kind.SEMANTIC },
    ];
    for (const entry of order) await api.remember(owner, entry);
    const ids = async () => (await recall(api, owner)).entries.map((entry) => entry.id);
    expect(await ids()).toEqual(["b", "f", "e", "c", "a", "d"]);
    await api.memory.patchMeta({ owner, id: "a", patchJson: '{"a":1}' });
    expect(await ids()).toEqual(["b", "f", "e", "c", "a", "d"]);
  });

  it("only entries of since_ms or later", async () => {
    const owner = api.owner();
    await api.rememberAll(
      owner,
      [9n, 10n, 11n, 10n].map((tsMs, n) => ({ tsMs, text: `t${n}` })),
    );
    expect((await recall(api, owner, { sinceMs: 10n })).texts).toEqual(["t2", "t3", "t1"]);
    expect((await recall(api, owner, { sinceMs: 12n })).texts).toEqual([]);
    expect((await recall(api, owner, { sinceMs: 0n })).texts).toHaveLength(4);
    expect((await recall(api, owner, { sinceMs: -5n })).texts).toHaveLength(4);
    expect((await recall(api, owner, { sinceMs: 10n, text: "T1", k: 1 })).texts).toEqual(["t1"]);
  });

  it("only the kinds asked for", async () => {
    const owner = api.owner();
    for (const kind of [Kind.EPISODIC, Kind.SEMANTIC, Kind.WORKING])
      await api.remember(owner, { kind, text: `k${kind}` });
    expect((await recall(api, owner, { kinds: [Kind.SEMANTIC] })).texts).toEqual(["k2"]);
    expect((await recall(api, owner, { kinds: [Kind.WORKING, Kind.EPISODIC, Kind.WORKING] })).texts.toSorted()).toEqual(
      ["k1", "k3"],
    );
    expect((await recall(api, owner, { kinds: [] })).texts).toHaveLength(3);
    expect((await recall(api, owner, { kinds: [Kind.SEMANTIC] })).summary.scanned).toBe(1n);
    expect(await failureOf(api.memory.recall({ owner, kinds: [Kind.SEMANTIC, Kind.UNSPECIFIED] }))).toMatchObject({
      reason: "FIELD_INVALID",
      fields: ["kinds[1]"],
    });
  });

  it("in batches of up to 64 KiB, or of one larger entry", async () => {
    const owner = api.owner();
    const sizes = [10, 30_000, 30_000, 30_000, 200_000, 5, 60_000, 60_000, 70_000, 100, 1_000_000, 20, 40_000];
    await api.rememberAll(
      owner,
      sizes.map((size, n) => ({ id: `e${n}`, text: "x".repeat(size), tsMs: BigInt(n + 1) })),
    );
    const messages = await collect(api.memory.recall({ owner, k: 100 }));
    const batches = messages.flatMap(({ event }) => (event.case === "batch" ? [event.value.entries] : []));
    expect(batches.flat().map((entry) => entry.id)).toEqual(sizes.map((_, n) => `e${sizes.length - 1 - n}`));
    expect(batches.length).toBeGreaterThan(4);
    for (const [n, message] of messages.entries()) {
      if (message.event.case === "batch" && message.event.value.entries.length > 1) {
        expect(toBinary(RecallResponseSchema, message).length, `batch ${n}`).toBeLessThanOrEqual(BATCH_BYTES);
      }
    }
    expect(messages.at(-1)?.event).toMatchObject({ case: "summary", value: { returned: BigInt(sizes.length) } });
  });

  it("from a state that holds min_seq, or not at all", async () => {
    const owner = api.owner();
    const { seq } = await api.remember(owner);
    expect((await recall(api, owner, { minSeq: seq })).entries).toHaveLength(1);
    const unreached = { code: Code.OutOfRange, reason: "SEQ_NOT_REACHED", metadata: { seq: String(seq) } };
    expect(await failureOf(api.memory.recall({ owner, minSeq: seq + 1n }))).toMatchObject(unreached);
    expect(await failureOf(api.memory.recall({ owner: api.owner(), minSeq: 1n }))).toMatchObject({
      reason: "SEQ_NOT_REACHED",
      metadata: { seq: "0" },
    });
    expect(await failureOf(api.memory.recall({ owner, minSeq: -1n }))).toMatchObject({ fields: ["min_seq"] });
  });

  it("without what was forgotten, with what was patched", async () => {
    const owner = api.owner();
    for (const id of ["a", "b", "c"]) await api.remember(owner, { id, text: `text ${id}` });
    await api.memory.forget({ owner, id: "b" });
    await api.memory.patchMeta({ owner, id: "a", patchJson: '{"new":1}' });
    const { entries, summary } = await recall(api, owner, { text: "text" });
    expect(entries.map((entry) => [entry.id, entry.metaJson])).toEqual([
      ["c", ""],
      ["a", '{"new":1}'],
    ]);
    expect(summary).toMatchObject({ scanned: 2n, matched: 2n });
  });

  it("less than a reader asks for who stops early, and goes on serving", async () => {
    const owner = api.owner();
    await api.rememberAll(
      owner,
      Array.from({ length: 20 }, () => ({ text: "x".repeat(100_000) })),
    );
    for await (const _ of api.memory.recall({ owner, k: 200 })) break;
    expect((await recall(api, owner, { k: 200 })).entries).toHaveLength(20);
  });
});
