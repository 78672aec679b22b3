import { status } from "@grpc/grpc-js";
import type {
  ClearRequest,
  ListEntriesRequest,
  PatchMetaRequest,
  RecallRequest,
  RememberRequest,
  RestoreRequest,
} from "@reverie/proto/memory";
import { Kind, ListOrder, OwnerKind } from "@reverie/proto/memory";
import { describe, expect, test } from "vitest";
import { metaFromJson, metaToJson, newEntryId, ServiceConfigError, TrashRestoreConflictError } from "../src/index.js";
import { failure } from "./support/fake-server.js";
import { batch, connect, entry, failureOf, summary } from "./support/harness.js";

type Reply = (error: unknown, message?: unknown) => void;
const owner = { kind: "agent", id: "x" } as const;

/** Answers every call with `answer` and keeps the requests. */
function recording<R>(answer: unknown | ((request: R) => unknown) = {}) {
  const seen: R[] = [];
  const handler = (call: { request: R }, reply: Reply) => {
    seen.push(call.request);
    reply(null, typeof answer === "function" ? answer(call.request) : answer);
  };
  return { seen, handler };
}

describe("remember", () => {
  test("sends what was given, and a new id each time", async () => {
    const { seen, handler } = recording<RememberRequest>((request: RememberRequest) => ({
      entry: { ...request.entry, $typeName: undefined, seq: 1n },
    }));
    const { client } = await connect({ remember: handler });
    const handle = client.handle(owner);
    const first = await handle.remember({
      kind: "episodic",
      text: " verbatim\n",
      meta: { a: [1, null], b: undefined },
    });
    const second = await handle.remember({ kind: "working", text: "t", id: "mine", meta: {} });
    expect(seen[0]).toMatchObject({
      owner: { kind: OwnerKind.AGENT, id: "x" },
      entry: { kind: Kind.EPISODIC, text: " verbatim\n", metaJson: '{"a":[1,null]}', tsMs: 0n },
    });
    expect(first).toEqual({
      id: seen[0]?.entry?.id,
      kind: "episodic",
      text: " verbatim\n",
      ts: 0,
      meta: { a: [1, null] },
    });
    expect(second).toEqual({ id: "mine", kind: "working", text: "t", ts: 0 });
    expect("meta" in second).toBe(false);
  });

  test.each([
    ["an unknown kind", { kind: "fact", text: "t" }, "FIELD_INVALID"],
    ["a kind of Object.prototype", { kind: "constructor", text: "t" }, "FIELD_INVALID"],
    ["no text", { kind: "working" }, "TEXT_INVALID"],
    ["an empty id", { kind: "working", text: "t", id: "" }, "ENTRY_ID_INVALID"],
    ["a long id", { kind: "working", text: "t", id: "é".repeat(65) }, "ENTRY_ID_INVALID"],
    ["a control character in the id", { kind: "working", text: "t", id: "a\nb" }, "ENTRY_ID_INVALID"],
    ["half a character in the id", { kind: "working", text: "t", id: "\ud83d" }, "ENTRY_ID_INVALID"],
    ["a key that no memory has", { kind: "working", text: "t", mta: { a: 1 } }, "FIELD_INVALID"],
    ["a meta that is an array", { kind: "working", text: "t", meta: [] }, "META_INVALID"],
  ])("%s is refused before anything is sent", async (_name, given, reason) => {
    const { seen, handler } = recording<RememberRequest>();
    const { client } = await connect({ remember: handler });
    const error = await failureOf(client.handle(owner).remember(given as never));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", reason });
    expect(seen).toHaveLength(0);
  });

  test("ids", () => {
    const now = Date.now();
    const ids = Array.from({ length: 5_000 }, () => newEntryId(now));
    expect(new Set(ids).size).toBe(5_000);
    expect(ids.every((id) => /^[0-9a-z]{8}-[a-z0-9]{6}$/.test(id))).toBe(true);
    expect(Number.parseInt(ids[0]?.slice(0, 8) ?? "", 36)).toBe(now);
    expect(newEntryId(1)).toMatch(/^00000001-/);
  });
});

describe("meta", () => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  test.each([
    ["a function", { a: () => 1 }],
    ["a symbol", { a: Symbol("s") }],
    ["a bigint", { a: { b: 2n } }],
    ["NaN", { a: Number.NaN }],
    ["Infinity", { a: [Number.POSITIVE_INFINITY] }],
    ["undefined in an array", { a: [undefined] }],
    ["a Map", { a: new Map([["k", 1]]) }],
    ["a Set", { a: new Set([1]) }],
    ["a cycle", loop],
    ["null", null],
    ["a string", "x"],
    ["a Date, whose JSON is a string", new Date(0)],
    [
      "a toJSON that throws",
      {
        a: {
          toJSON() {
            throw new Error("no");
          },
        },
      },
    ],
  ])("%s is refused", async (_name, meta) => {
    const error = await failureOf(() => metaToJson(meta as never));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", reason: "META_INVALID" });
    expect(error.violations).toHaveLength(1);
  });

  test("what JSON can hold", () => {
    expect(metaToJson({ at: new Date(0), n: 1e21, u: undefined, half: "\ud83d" })).toBe(
      '{"at":"1970-01-01T00:00:00.000Z","n":1e+21,"half":"\\ud83d"}',
    );
    expect(metaToJson({})).toBe("");
    expect(metaToJson({ u: undefined })).toBe("");
    expect(metaToJson(undefined)).toBe("");
  });

  test("__proto__ is a key like others, both ways", () => {
    const json = '{"__proto__":{"polluted":true},"a":1}';
    const meta = metaFromJson(json);
    expect(Object.getPrototypeOf(meta)).toBe(Object.prototype);
    expect(meta?.polluted).toBeUndefined();
    expect(Object.keys(meta ?? {})).toEqual(["__proto__", "a"]);
    expect(metaToJson(meta)).toBe(json);
  });

  test("empty is undefined; broken is an error", async () => {
    expect(metaFromJson("")).toBeUndefined();
    expect(metaFromJson("{}")).toBeUndefined();
    expect((await failureOf(() => metaFromJson("[1]"))).reason).toBe("RESPONSE_INVALID");
    expect((await failureOf(() => metaFromJson("{"))).reason).toBe("RESPONSE_INVALID");
  });

  test("the raw stub keeps every digit", async () => {
    const metaJson = '{"n":9007199254740993}';
    const { client } = await connect({ getEntry: recording({ entry: entry("a", { metaJson }) }).handler });
    expect((await client.memory.getEntry({ id: "a" })).entry?.metaJson).toBe(metaJson);
    expect((await client.get(owner, "a"))?.meta).toEqual({ n: 9007199254740992 });
  });
});

describe("list", () => {
  function paged(total: number, perPage: number) {
    return recording<ListEntriesRequest>((request: ListEntriesRequest) => {
      const from = Number(request.pageToken || "0");
      const to = Math.min(total, from + Math.min(request.pageSize, perPage));
      return {
        entries: Array.from({ length: to - from }, (_, n) => entry(`e${from + n}`)),
        nextPageToken: to < total ? String(to) : "",
      };
    });
  }

  test.each([
    [undefined, 100],
    [10_000, 500],
    [Number.POSITIVE_INFINITY, 500],
    [7, 7],
    [7.9, 7],
    [0, 0],
  ])("limit %s gives %s of 1,000, over pages that end early", async (limit, expected) => {
    const { seen, handler } = paged(1_000, 60);
    const { client } = await connect({ listEntries: handler });
    const all = await client.handle(owner).list({ limit });
    expect(all.map((e) => e.id)).toEqual(Array.from({ length: expected }, (_, n) => `e${n}`));
    expect(seen.length).toBe(Math.ceil(expected / 60));
    expect(seen.every((request) => request.pageSize <= 500 && request.order === ListOrder.NEWEST_FIRST)).toBe(true);
  });

  test("fewer than asked for; a kind", async () => {
    const { seen, handler } = paged(3, 60);
    const { client } = await connect({ listEntries: handler });
    expect(await client.handle(owner).list({ kind: "semantic", limit: 10_000 })).toHaveLength(3);
    expect(seen[0]?.kinds).toEqual([Kind.SEMANTIC]);
    expect(await client.handle(owner).list()).toHaveLength(3);
    expect(seen[1]?.kinds).toEqual([]);
  });

  test.each([-1, Number.NaN, "5"])("limit %s is refused", async (limit) => {
    const { client } = await connect({});
    expect(await failureOf(client.handle(owner).list({ limit: limit as number }))).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: "FIELD_INVALID",
    });
  });

  test("entries() has no cap", async () => {
    const { client } = await connect({ listEntries: paged(1_234, 500).handler });
    let count = 0;
    for await (const _ of client.entries(owner, { order: "oldest" })) count++;
    expect(count).toBe(1_234);
  });
});

describe("recall, forget, clear, patchMeta", () => {
  test("recall sends its query; k 0 asks nobody", async () => {
    const seen: RecallRequest[] = [];
    const recall = (call: { request: RecallRequest; write(m: unknown): void; end(): void }) => {
      seen.push(call.request);
      call.write(batch(entry("a"), entry("b", { metaJson: '{"x":1}', textTruncated: true })));
      call.write(summary(2));
      call.end();
    };
    const { client } = await connect({ recall });
    const found = await client.handle(owner).recall({ text: "T", kinds: ["working"], k: 5_000, since: 12.5 });
    expect(found).toEqual([
      { id: "a", kind: "episodic", text: "text of a", ts: 1_000 },
      { id: "b", kind: "episodic", text: "text of b", ts: 1_000, meta: { x: 1 }, textTruncated: true },
    ]);
    expect(seen[0]).toMatchObject({ text: "T", kinds: [Kind.WORKING], k: 200, sinceMs: 13n });
    await client.handle("agent/x").recall();
    expect(seen[1]).toMatchObject({ text: "", kinds: [], k: 0, sinceMs: 0n, owner: { id: "x" } });
    expect(await client.handle(owner).recall({ k: 0 })).toEqual([]);
    expect(seen).toHaveLength(2);
    await client.handle(owner).recall({ k: 1.5 });
    expect(seen.pop()).toMatchObject({ k: 1 });
    expect((await failureOf(client.handle(owner).recall({ since: Number.NaN }))).reason).toBe("FIELD_INVALID");
  });

  test("forget of an unknown id is no error; half a character is nobody's id", async () => {
    const { seen, handler } = recording({ found: false });
    const { client } = await connect({ forget: handler });
    expect(await client.handle(owner).forget("nope")).toBeUndefined();
    expect(await client.handle(owner).forget("\ud83d")).toBeUndefined();
    expect(seen).toHaveLength(1);
  });

  test("clear says what it means", async () => {
    const { seen, handler } = recording<ClearRequest>({ removed: 1n });
    const { client } = await connect({ clear: handler });
    expect(await client.handle(owner).clear("episodic")).toBeUndefined();
    await client.handle(owner).clear();
    expect(seen[0]).toMatchObject({ kinds: [Kind.EPISODIC], all: false });
    expect(seen[1]).toMatchObject({ kinds: [], all: true });
    // An unknown kind must never clear everything.
    for (const kind of ["", null, "all"]) {
      expect((await failureOf(client.handle(owner).clear(kind as never))).reason).toBe("FIELD_INVALID");
    }
    expect(seen).toHaveLength(2);
  });

  test("patchMeta splits off what is undefined", async () => {
    const { seen, handler } = recording<PatchMetaRequest>((request: PatchMetaRequest) => ({
      found: request.id === "a",
    }));
    const { client } = await connect({ patchMeta: handler });
    const handle = client.handle(owner);
    expect(await handle.patchMeta("a", { set: null, gone: undefined, deep: { u: undefined } })).toBe(true);
    expect(await handle.patchMeta("b", { gone: undefined })).toBe(false);
    expect(await handle.patchMeta("a", {})).toBe(true);
    expect(seen[0]).toMatchObject({ patchJson: '{"set":null,"deep":{}}', removeKeys: ["gone"] });
    expect(seen[1]).toMatchObject({ patchJson: "", removeKeys: ["gone"] });
    expect((await failureOf(handle.patchMeta("a", { f: () => 1 }))).reason).toBe("META_INVALID");
    expect(seen).toHaveLength(3);
  });

  test("a handle of a bad owner is refused at once", async () => {
    const { client } = await connect({});
    expect((await failureOf(() => client.handle("agent"))).reason).toBe("FIELD_INVALID");
    expect((await failureOf(() => client.handle({ kind: "agent", id: "a/b" }))).reason).toBe("OWNER_ID_INVALID");
    expect((await failureOf(() => client.handle({ kind: "team" as never, id: "a" }))).reason).toBe("FIELD_INVALID");
  });
});

describe("attach", () => {
  test("takes a hub's YAML, scope included", async () => {
    const { seen, handler } = recording({ changed: true });
    const { client } = await connect({ attach: handler });
    const config = { scope: "private", allowedKinds: ["episodic", "working"], maxEpisodicBytes: 1_000 } as const;
    expect(await client.attach(owner, config, { replace: true })).toEqual({ changed: true });
    await client.attach(owner, {});
    expect(seen[0]).toMatchObject({
      replace: true,
      config: { allowedKinds: [Kind.EPISODIC, Kind.WORKING], maxEpisodicBytes: 1_000n, maxSemanticBytes: 0n },
    });
    expect(seen[1]).toMatchObject({ replace: false, config: { allowedKinds: [] } });
  });

  test.each([
    [{ allowedKind: ["episodic"] }],
    [{ allowedKinds: [] }],
    [{ allowedKinds: "episodic" }],
    [{ allowedKinds: ["fact"] }],
    [{ allowedKinds: ["working", "working"] }],
    [{ maxEpisodicBytes: -1 }],
    [{ maxEpisodicBytes: "1kb" }],
    [{ maxSemanticBytes: 1.5 }],
    [{ maxSemanticBytes: null }],
    [JSON.parse('{"__proto__":1}')],
    [null],
    [[]],
  ])("%j is a ServiceConfigError, and nothing is sent", async (config) => {
    const { seen, handler } = recording();
    const { client } = await connect({ attach: handler });
    const error = await client.attach(owner, config as never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceConfigError);
    expect(error).toMatchObject({ name: "ServiceConfigError", code: "service_config_invalid" });
    expect(seen).toHaveLength(0);
  });
});

describe("the hub's trash", () => {
  const ref = {
    refId: "58487d231adb0a5c",
    owner: { kind: OwnerKind.WORKFLOW_RUN, id: "r" },
    deletedAtMs: 1_764_500_000_000n,
    expiresAtMs: 1_767_092_000_000n,
  };
  const hubRef = {
    id: "58487d231adb0a5c",
    type: "memory",
    impl: "file",
    ownerKind: "workflow-run",
    ownerId: "r",
    deletedAt: 1_764_500_000_000,
    expiresAt: 1_767_092_000_000,
  } as const;

  test("refs have the shape that hubs store", async () => {
    const listTrash = (call: { write(m: unknown): void; end(): void }) => {
      call.write({ refs: [ref, { ...ref, reason: "old" }] });
      call.write({ refs: [ref] });
      call.end();
    };
    const { seen, handler } = recording({ ref, moved: true });
    const { client } = await connect({ softDelete: handler, listTrash });
    expect(await client.hubTrash.softDelete("workflow-run/r")).toEqual(hubRef);
    await client.hubTrash.softDelete("workflow-run/r", "why");
    expect(seen[1]).toMatchObject({ reason: "why" });
    expect(await client.hubTrash.list()).toEqual([hubRef, { ...hubRef, reason: "old" }, hubRef]);
  });

  test("restore and hardDelete take a ref; a conflict has the hub's name and code", async () => {
    const seen: unknown[] = [];
    const restore = (call: { request: RestoreRequest }, reply: Reply) => {
      seen.push(call.request);
      const rich = { reason: call.request.refId === "gone" ? "TRASH_NOT_FOUND" : "TRASH_RESTORE_CONFLICT" };
      if (seen.length === 1) reply(null, { entries: 1n });
      else reply(failure(status.FAILED_PRECONDITION, "the owner is live: soft-delete it first", rich));
    };
    const hardDelete = recording();
    const { client } = await connect({ restore, hardDelete: hardDelete.handler });
    expect(await client.hubTrash.restore(hubRef)).toBeUndefined();
    expect(seen[0]).toMatchObject({ owner: { kind: OwnerKind.WORKFLOW_RUN, id: "r" }, refId: hubRef.id });
    const error = await client.hubTrash.restore(hubRef).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TrashRestoreConflictError);
    expect(error).toMatchObject({
      name: "TrashRestoreConflictError",
      code: "trash_restore_conflict",
      message: "the owner is live: soft-delete it first",
      cause: { reason: "TRASH_RESTORE_CONFLICT" },
    });
    expect((await failureOf(client.hubTrash.restore({ ...hubRef, id: "gone" }))).reason).toBe("TRASH_NOT_FOUND");
    await client.hubTrash.hardDelete(hubRef);
    expect(hardDelete.seen[0]).toMatchObject({ refId: hubRef.id });
  });
});
