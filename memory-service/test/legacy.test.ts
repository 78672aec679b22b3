import { mkdir, writeFile } from "node:fs/promises";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import * as pb from "@reverie/proto/memory";
import { describe, expect, it } from "vitest";
import { memoryService } from "../src/rpc/services.js";
import { never, owner, tempMemory } from "./temp-memory.js";

const context = { signal: never } as HandlerContext;
const alice = { kind: pb.OwnerKind.AGENT, id: owner.id };
const MESSAGE_LIMIT = 4_194_304;

/** Handlers over a file that an older writer left, whose entries break today's limits. */
async function olderFile(entries: readonly object[]) {
  const memory = await tempMemory();
  const directory = `${memory.root}/${owner.kind}/${owner.id}`;
  await mkdir(directory, { recursive: true });
  await writeFile(`${directory}/episodic.jsonl`, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  return memoryService(memory);
}

function sizeOf<D extends DescMessage>(schema: D, message: MessageInitShape<D>): number {
  return toBinary(schema, create(schema, message)).length;
}

describe("entries of an older file", () => {
  it("travel cut where they break the limits, and whole in an export", async () => {
    const service = await olderFile([
      { id: "text", kind: "episodic", text: "é".repeat(1_500_000), ts: 1 },
      { id: "meta", kind: "episodic", text: "x", ts: 2, meta: { a: "y".repeat(100_000) } },
      { id: "\ud800", kind: "episodic", text: "\udc00", ts: 3 },
    ]);
    const entries: pb.Entry[] = [];
    for await (const message of service.recall(create(pb.RecallRequestSchema, { owner: alice }), context)) {
      expect(sizeOf(pb.RecallResponseSchema, message)).toBeLessThan(MESSAGE_LIMIT);
      if (message.event?.case === "batch") entries.push(...(message.event.value.entries as pb.Entry[]));
    }
    expect(entries.map(({ id, textTruncated, metaOmitted }) => [id, textTruncated, metaOmitted])).toEqual([
      ["\ufffd", false, false],
      ["meta", false, true],
      ["text", true, false],
    ]);
    expect(Buffer.byteLength(entries[2]?.text ?? "")).toBe(1_048_576);

    let exported = 0;
    for await (const message of service.exportOwner(create(pb.ExportOwnerRequestSchema, { owner: alice }), context)) {
      expect(sizeOf(pb.ExportOwnerResponseSchema, message)).toBeLessThan(MESSAGE_LIMIT);
      if (message.event?.case === "lines") exported += message.event.value.length;
    }
    expect(exported).toBeGreaterThan(3_100_000);
  });

  it("with long ids fill no page beyond a message", async () => {
    const service = await olderFile(
      Array.from({ length: 500 }, (_, i) => ({
        id: `${i}${"é".repeat(3_000)}`,
        kind: "episodic",
        text: "x".repeat(6_000),
        ts: i,
      })),
    );
    let pageToken = "";
    let found = 0;
    do {
      const request = create(pb.ListEntriesRequestSchema, { owner: alice, pageSize: 500, pageToken });
      const page = await service.listEntries(request, context);
      expect(sizeOf(pb.ListEntriesResponseSchema, page)).toBeLessThan(MESSAGE_LIMIT);
      found += page.entries?.length ?? 0;
      pageToken = page.nextPageToken ?? "";
    } while (pageToken !== "");
    expect(found).toBe(500);
  });

  it("come to a watcher in small messages, though they share one seq", async () => {
    const service = await olderFile(
      Array.from({ length: 3_000 }, (_, i) => ({ id: `e${i}`, kind: "episodic", text: "x".repeat(1_000), ts: i })),
    );
    let found = 0;
    const request = create(pb.WatchRequestSchema, { owner: alice, afterSeq: 0n });
    for await (const message of service.watch(request, context)) {
      expect(sizeOf(pb.WatchResponseSchema, message)).toBeLessThan(150_000);
      if (message.event?.case !== "batch") break;
      found += message.event.value.changes?.length ?? 0;
    }
    expect(found).toBe(3_000);
  });

  it("are patched and forgotten in every copy, by ids that are too long today", async () => {
    const id = "i".repeat(200);
    const service = await olderFile([
      { id, kind: "episodic", text: "one", ts: 1 },
      { id, kind: "episodic", text: "two", ts: 2, meta: { b: 1 } },
    ]);
    const patch = create(pb.PatchMetaRequestSchema, { owner: alice, id, patchJson: '{"a":1}' });
    expect(await service.patchMeta(patch, context)).toMatchObject({
      found: true,
      copies: 2,
      entry: { text: "two", metaJson: '{"b":1,"a":1}' },
    });
    const forget = create(pb.ForgetRequestSchema, { owner: alice, id });
    expect(await service.forget(forget, context)).toMatchObject({ found: true, copies: 2 });
    expect(await service.forget(forget, context)).toMatchObject({ found: false, copies: 0 });
  });
});
