import { status } from "@grpc/grpc-js";
import type { ImportOwnerRequest, WatchRequest } from "@reverie/proto/memory";
import { Kind } from "@reverie/proto/memory";
import { describe, expect, test } from "vitest";
import type { ReverieError, WatchUpdate } from "../src/index.js";
import { createMemoryClient } from "../src/index.js";
import { failure, startFake, unavailable } from "./support/fake-server.js";
import { batch, collect, connect, entry, failureOf, later, summary } from "./support/harness.js";

type Reply = (error: unknown, message?: unknown) => void;
interface Out {
  readonly request: unknown;
  write(message: unknown): boolean;
  end(): void;
  emit(event: string, value: unknown): void;
  on(event: string, listener: () => void): void;
}
const owner = "agent/x";

describe("recall streams", () => {
  test("entries as they come, the summary at the end", async () => {
    const recall = (call: Out) => {
      call.write(batch(entry("a"), entry("b")));
      call.write(batch(entry("c")));
      call.write(summary(3));
      call.end();
    };
    const { client } = await connect({ recall });
    const stream = client.recallStream(owner);
    const ids: string[] = [];
    for await (const { id } of stream) {
      expect(stream.summary).toBeUndefined();
      ids.push(id);
    }
    expect(ids).toEqual(["a", "b", "c"]);
    expect(stream.summary).toMatchObject({ returned: 3, seq: 9, truncated: false });
    expect(await client.recall(owner)).toMatchObject({ entries: [{ id: "a" }, {}, {}], summary: { returned: 3 } });
  });

  test("without a summary they are incomplete", async () => {
    const recall = (call: Out) => {
      call.write(batch(entry("a")));
      call.end();
    };
    const { client } = await connect({ recall });
    const stream = client.recallStream(owner);
    const error = await failureOf(collect(stream));
    expect(error).toMatchObject({ reason: "STREAM_INCOMPLETE", retryable: true });
    expect(stream.summary).toBeUndefined();
    expect((await failureOf(client.handle(owner).recall())).reason).toBe("STREAM_INCOMPLETE");
  });

  test("an empty stream is incomplete too", async () => {
    const { client } = await connect({ recall: (call: Out) => call.end() });
    expect((await failureOf(client.handle(owner).recall())).reason).toBe("STREAM_INCOMPLETE");
  });

  test("leaving early ends the call, on the raw stub too", async () => {
    let cancelled = 0;
    const recall = (call: Out) => {
      call.on("cancelled", () => {
        cancelled++;
      });
      call.write(batch(entry("a"), entry("b")));
    };
    const { client } = await connect({ recall });
    for await (const _ of client.recallStream(owner)) break;
    await expect.poll(() => cancelled).toBe(1);
    for await (const _ of client.memory.recall({})) break;
    await expect.poll(() => cancelled).toBe(2);
  });

  test("handle.recall has the client's deadline, recallStream has none unless asked", async () => {
    const { client } = await connect({ recall: (call: Out) => call.write(batch(entry("a"))) }, { timeoutMs: 150 });
    expect((await failureOf(client.handle(owner).recall())).code).toBe("DEADLINE_EXCEEDED");
    const it = client.recallStream(owner)[Symbol.asyncIterator]();
    await it.next();
    const slow = it.next();
    expect(await Promise.race([slow, new Promise((resolve) => setTimeout(resolve, 400, "open"))])).toBe("open");
    client.close();
    expect((await failureOf(slow)).reason).toBe("CLIENT_CLOSED");
    expect((await failureOf(collect(client.recallStream(owner, {}, { timeoutMs: 50 })))).reason).toBe("CLIENT_CLOSED");
  });
});

describe("watch", () => {
  const cursor = (seq: bigint) => ({ event: { case: "cursor", value: { seq } } });
  const changes = (seq: bigint) => ({
    event: {
      case: "batch",
      value: {
        cursor: seq,
        changes: [
          { change: { case: "upserted", value: entry(`e${seq}`, { seq }) } },
          { change: { case: "deleted", value: { id: "d", kind: Kind.WORKING, seq } } },
        ],
      },
    },
  });

  async function take(updates: AsyncIterable<WatchUpdate>, count: number): Promise<WatchUpdate[]> {
    const got: WatchUpdate[] = [];
    for await (const update of updates) {
      got.push(update);
      if (got.length === count) break;
    }
    return got;
  }

  test("goes on from the last cursor after UNAVAILABLE, again and again", async () => {
    const from: (bigint | undefined)[] = [];
    let cancelled = false;
    const watch = (call: Out & { readonly request: WatchRequest }) => {
      from.push(call.request.afterSeq);
      if (from.length === 2 || from.length === 3) return call.emit("error", unavailable("DRAINING"));
      call.on("cancelled", () => {
        cancelled = true;
      });
      if (from.length === 1) {
        call.write(cursor(4n));
        call.write(changes(5n));
        setTimeout(() => call.emit("error", unavailable("DRAINING")), 40);
      } else call.write(changes(6n));
    };
    const ended: string[] = [];
    const { client } = await connect({ watch });
    const onReconnect = (error: ReverieError) => ended.push(error.reason);
    const updates = await take(client.watch(owner, { onReconnect }), 3);
    expect(updates.map((update) => update.cursor)).toEqual([4, 5, 6]);
    expect(updates[1]?.changes).toEqual([
      { type: "upserted", seq: 5, entry: { id: "e5", kind: "episodic", text: "text of e5", ts: 1_000 } },
      { type: "deleted", id: "d", kind: "working", seq: 5 },
    ]);
    expect(from).toEqual([undefined, 5n, 5n, 5n]);
    expect(ended).toEqual(["DRAINING"]);
    await expect.poll(() => cancelled).toBe(true);
  });

  test("over a restart of the server", async () => {
    const first = await startFake({ watch: (call: Out) => call.write(cursor(7n)) });
    const client = createMemoryClient({ address: first.address, retry: { initialBackoffMs: 10, maxBackoffMs: 50 } });
    later(() => client.close());
    const updates = client.watch(owner, { afterSeq: 0 });
    expect((await updates.next()).value).toEqual({ changes: [], cursor: 7 });
    const next = updates.next();
    first.stop();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    let from: bigint | undefined;
    const watch = (call: Out & { readonly request: WatchRequest }) => {
      from = call.request.afterSeq;
      call.write(cursor(8n));
    };
    const second = await startFake({ watch }, { port: first.port });
    later(() => second.stop());
    expect((await next).value).toEqual({ changes: [], cursor: 8 });
    expect(from).toBe(7n);
    await updates.return();
  });

  test("an expired cursor is the caller's to handle", async () => {
    const watch = (call: Out) =>
      call.emit(
        "error",
        failure(status.OUT_OF_RANGE, "list again", { reason: "WATCH_CURSOR_EXPIRED", metadata: { floor: "9" } }),
      );
    const { client } = await connect({ watch });
    const error = await failureOf(take(client.watch(owner, { afterSeq: 3 }), 1));
    expect(error).toMatchObject({ code: "OUT_OF_RANGE", reason: "WATCH_CURSOR_EXPIRED", metadata: { floor: "9" } });
  });

  test("the first connection gives up; an abort ends it", async () => {
    let calls = 0;
    const watch = (call: Out) => {
      if (++calls <= 2) call.emit("error", unavailable());
      else call.write(cursor(1n));
    };
    const { client } = await connect({ watch }, { retry: { maxAttempts: 2, initialBackoffMs: 1 } });
    expect((await failureOf(take(client.watch(owner), 1))).code).toBe("UNAVAILABLE");
    expect(calls).toBe(2);
    const controller = new AbortController();
    const updates = client.watch(owner, { signal: controller.signal });
    await updates.next();
    setTimeout(() => controller.abort(), 20);
    expect((await failureOf(updates.next())).code).toBe("CANCELLED");
  });
});

describe("export and import", () => {
  test("export: bytes, then the summary; incomplete without", async () => {
    let whole = true;
    const exportOwner = (call: Out) => {
      call.write({ event: { case: "lines", value: Buffer.from('{"id":"a"}\n') } });
      call.write({ event: { case: "lines", value: Buffer.from('{"id":"b"}\n') } });
      if (whole) call.write({ event: { case: "summary", value: { entries: 2n, bytes: 22n, seq: 3n } } });
      call.end();
    };
    const { client } = await connect({ exportOwner });
    const stream = client.exportOwner(owner);
    expect(Buffer.concat(await collect(stream)).toString()).toBe('{"id":"a"}\n{"id":"b"}\n');
    expect(stream.summary).toEqual({ entries: 2, bytes: 22, seq: 3, corruptLinesSkipped: 0 });
    whole = false;
    expect((await failureOf(collect(client.exportOwner(owner)))).reason).toBe("STREAM_INCOMPLETE");
  });

  test("import: chunks of any size, text or bytes; the owner comes first", async () => {
    const got: ImportOwnerRequest[] = [];
    const importOwner = async (call: AsyncIterable<ImportOwnerRequest>, reply: Reply) => {
      for await (const request of call) got.push(request);
      reply(null, { stored: 2n, refused: 1n, refusedItems: [{ index: 1n, reason: 31, message: "m" }] });
    };
    const { client } = await connect({ importOwner });
    const big = Buffer.alloc(2.5 * 1024 * 1024, 120);
    const result = await client.importOwner(owner, ["é", new Uint8Array(), big]);
    expect(got.map((request) => request.owner?.id)).toEqual(["x", undefined, undefined, undefined, undefined]);
    // toEqual() takes seconds for this much.
    expect(Buffer.concat(got.map((request) => request.lines)).equals(Buffer.concat([Buffer.from("é"), big]))).toBe(
      true,
    );
    expect(result).toMatchObject({
      stored: 2,
      refused: 1,
      refusedItems: [{ index: 1, reason: "TEXT_INVALID", message: "m" }],
      stopped: false,
    });
  });

  test("rememberMany: an empty array, a bad item, refusals", async () => {
    let calls = 0;
    const rememberMany = async (call: AsyncIterable<unknown>, reply: Reply) => {
      calls++;
      let received = 0n;
      for await (const request of call) received += BigInt((request as { entries: unknown[] }).entries.length);
      reply(null, { received, refused: [{ index: 0n, id: "a", reason: 34, message: "m" }] });
    };
    const { client } = await connect({ rememberMany });
    expect(await client.rememberMany(owner, [])).toMatchObject({
      received: 0,
      refused: [{ index: 0, id: "a", reason: "ENTRY_EXISTS" }],
    });
    const items = [
      { kind: "working" as const, text: "t" },
      { kind: "working" as const, text: "t", meta: { n: 1n } },
    ];
    expect((await failureOf(client.rememberMany(owner, items))).reason).toBe("META_INVALID");
    expect(calls).toBe(1);
    // A generator's bad item is found on the way; the error is the item's own.
    expect((await failureOf(client.rememberMany(owner, items.values()))).reason).toBe("META_INVALID");
  });
});
