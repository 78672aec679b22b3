import type { Owner } from "@reverie/proto/memory";
import { OwnerKind } from "@reverie/proto/memory";
import { describe, expect, it } from "vitest";
import { withOwner } from "../src/rpc/owned-stream.js";
import { watchBatches } from "../src/rpc/watch-batches.js";
import type { WatchChange } from "../src/store/store.js";

interface Message {
  readonly owner?: Owner | undefined;
  readonly value: number;
}

const owner = (id: string): Owner => ({ $typeName: "reverie.memory.v1.Owner", kind: OwnerKind.AGENT, id });

/** Requests that note when the rest of them is given up. */
function requestsOf(...messages: Message[]) {
  const seen = { closed: false };
  async function* generate(): AsyncGenerator<Message> {
    try {
      yield* messages;
    } finally {
      seen.closed = true;
    }
  }
  return { requests: generate(), seen };
}

async function collect(contents: AsyncIterable<number>): Promise<number[]> {
  const values: number[] = [];
  for await (const value of contents) values.push(value);
  return values;
}

describe("a stream of requests", () => {
  const numberIn = (message: Message): number => message.value;

  it("has its owner in the first message and may repeat it", async () => {
    const { requests, seen } = requestsOf(
      { owner: owner("a"), value: 1 },
      { value: 2 },
      { owner: owner("a"), value: 3 },
    );
    const result = await withOwner(requests, numberIn, async (ref, contents) => [ref, await collect(contents)]);
    expect(result).toEqual([{ kind: "agent", id: "a" }, [1, 2, 3]]);
    expect(seen.closed).toBe(true);
  });

  it.each([
    ["nothing", []],
    ["no owner first", [{ value: 1 }, { owner: owner("a"), value: 2 }]],
    ["an owner without kind", [{ owner: { ...owner("a"), kind: OwnerKind.UNSPECIFIED }, value: 1 }]],
    [
      "another owner later",
      [
        { owner: owner("a"), value: 1 },
        { owner: owner("b"), value: 2 },
      ],
    ],
  ] as [string, Message[]][])("with %s is refused", async (_, messages) => {
    const { requests } = requestsOf(...messages);
    const run = withOwner(requests, numberIn, (_ref, contents) => collect(contents));
    await expect(run).rejects.toMatchObject({ reason: "FIELD_INVALID" });
  });

  it("is given up when the call ends before it", async () => {
    const early = requestsOf({ owner: owner("a"), value: 1 }, { value: 2 });
    await withOwner(early.requests, numberIn, async (_ref, contents) => {
      for await (const _ of contents) break;
    });
    expect(early.seen.closed).toBe(true);

    const failed = requestsOf({ owner: owner("a"), value: 1 });
    const run = withOwner(failed.requests, numberIn, () => Promise.reject(new Error("no")));
    await expect(run).rejects.toThrow("no");
    expect(failed.seen.closed).toBe(true);
  });
});

describe("a watch's step", () => {
  const upserted = (seq: number, bytes: number): WatchChange => ({
    upserted: { id: `e${seq}`, kind: "working", text: "x".repeat(bytes), ts: 1, meta: "", seq, ord: seq },
  });

  it("stays one batch while it is small", () => {
    const changes = [upserted(3, 10), { deleted: { id: "x", kind: "working", seq: 4 } } as const];
    expect([...watchBatches({ changes, cursor: 9 })]).toEqual([{ changes, cursor: 9 }]);
  });

  it("is cut into batches that can each be resumed after", () => {
    const changes = [1, 2, 3, 4, 5].map((seq) => upserted(seq, 30_000));
    const batches = [...watchBatches({ changes, cursor: 7 })];
    expect(batches.map(({ changes: part, cursor }) => [part.length, cursor])).toEqual([
      [2, 2],
      [2, 4],
      [1, 7],
    ]);
    expect(batches.flatMap((batch) => batch.changes)).toEqual(changes);
  });

  it("sends what is larger than a batch alone", () => {
    const changes = [upserted(1, 10), upserted(2, 70_000), upserted(3, 10), upserted(4, 10)];
    expect([...watchBatches({ changes, cursor: 4 })].map(({ changes: part }) => part.length)).toEqual([1, 1, 2]);
  });

  it("of older entries, which share seq 0, is resumed from the start", () => {
    const changes = [0, 0, 0].map((seq) => upserted(seq, 70_000));
    expect([...watchBatches({ changes, cursor: 5 })].map((batch) => batch.cursor)).toEqual([0, 0, 5]);
  });

  it("of copies that one change wrote is resumed before that change", () => {
    const changes = [8, 8, 9].map((seq) => upserted(seq, 70_000));
    expect([...watchBatches({ changes, cursor: 9 })].map((batch) => batch.cursor)).toEqual([7, 8, 9]);
  });
});
