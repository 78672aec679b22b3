import { create, type DescMethodUnary, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Client, credentials } from "@grpc/grpc-js";
import { InfoService } from "@reverie/proto/info";
import { Kind, MemoryService, RememberRequestSchema } from "@reverie/proto/memory";
import { beforeEach, expect, it } from "vitest";
import { errorFromStatus } from "../../clients/typescript/src/transport/status.js";
import { type Api, collect, contract, newEntry, stream } from "./support/contract.js";
import { caught, failureOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";

const MAX_MESSAGE_BYTES = 4 * 1_048_576;

/** A unary call of a method that the contract doesn't know. */
function callUnknown(api: Api, method: DescMethodUnary): Promise<unknown> {
  return api.channel.unary(method, undefined, undefined, undefined, create(method.input));
}

/** Remember, past the limits that @reverie/client's grpc-js transport keeps by itself. */
function rememberAnySize(api: Api, request: Parameters<typeof api.memory.remember>[0]): Promise<unknown> {
  if (api.transport.name !== "grpc-js") return api.memory.remember(request);
  const client = new Client(api.server.grpc, credentials.createInsecure(), { "grpc.max_send_message_length": -1 });
  const encode = (message: typeof request) =>
    Buffer.from(toBinary(RememberRequestSchema, create(RememberRequestSchema, message)));
  const path = `/${MemoryService.typeName}/Remember`;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      encode,
      (bytes) => bytes,
      request,
      (error, answer) => {
        client.close();
        if (error === null) resolve(answer);
        else reject(errorFromStatus(error));
      },
    );
  });
}

contract("A request that breaks rules", (api) => {
  it("is told of all violations at once, each with its field's path", async () => {
    const everything = await failureOf(
      api.memory.remember({ owner: { kind: 0, id: "" }, entry: { kind: Kind.UNSPECIFIED, tsMs: -1n, text: "" } }),
    );
    expect(everything).toMatchObject({ code: Code.InvalidArgument, reason: "FIELD_INVALID" });
    expect(everything.fields.toSorted()).toEqual(["entry.kind", "entry.ts_ms", "owner.id", "owner.kind"]);
    for (const { description } of everything.violations) expect(description).toMatch(/\w/);
    expect((await failureOf(api.memory.remember({}))).fields).toEqual(["owner", "entry"]);
    const recalled = await failureOf(
      api.memory.recall({
        owner: { kind: 1, id: "x" },
        kinds: [1, 0, 9 as Kind],
        k: -1,
        minSeq: -1n,
        text: "x".repeat(5_000),
      }),
    );
    expect(recalled.fields.toSorted()).toEqual(["k", "kinds[1]", "kinds[2]", "min_seq", "text"]);
    expect((await failureOf(api.trash.restore({}))).fields).toEqual(["owner", "ref_id"]);
    expect(
      (await failureOf(api.owners.attach({ config: { maxEpisodicBytes: -1n, maxSemanticBytes: -1n } }))).fields,
    ).toEqual(["owner", "config.max_episodic_bytes", "config.max_semantic_bytes"]);
  });

  it("by hundreds gets an answer of bounded size", async () => {
    const owner = { kind: 0, id: "" };
    const failure = await failureOf(api.memory.listEntries({ owner, kinds: Array(3_000).fill(0), pageSize: -1 }));
    expect(failure).toMatchObject({ code: Code.InvalidArgument, reason: "FIELD_INVALID" });
    expect(failure.violations.length).toBeGreaterThan(10);
    const bytes = JSON.stringify([failure.violations, failure.metadata]).length;
    expect(bytes).toBeLessThan(8_192);
  });

  it("names the unknown method", async () => {
    const known = InfoService.method.getServerInfo;
    const wanted = { ...known, name: "GetNothing" } as DescMethodUnary;
    const elsewhere = {
      ...known,
      parent: { ...InfoService, typeName: "reverie.memory.v1.NoService" },
    } as DescMethodUnary;
    for (const method of [wanted, elsewhere]) {
      const failure = await failureOf(callUnknown(api, method));
      expect(failure).toMatchObject({ code: Code.Unimplemented, reason: "UNIMPLEMENTED" });
      expect(failure.message).toContain(method.name);
    }
  });
});

contract("A call's deadline", (api) => {
  it("ends a call of either sort on this side", async () => {
    const owner = api.owner();
    const call = api.memory.watch({ owner }, { timeoutMs: 60 });
    expect((await caught(call)).code).toBe(Code.DeadlineExceeded);
    const slow = api.memory.rememberMany(late(300, { owner, entries: [newEntry({})] }), { timeoutMs: 60 });
    expect((await caught(slow)).code).toBe(Code.DeadlineExceeded);
  });

  it("ends it on the server too, with its reason", async () => {
    const owner = api.owner();
    const { name, of } = api.transport.timeoutHeader;
    // Without timeoutMs only the server keeps the time.
    const headers = { [name]: of(60) };
    expect(await failureOf(api.memory.watch({ owner }, { headers }))).toMatchObject({
      code: Code.DeadlineExceeded,
      reason: "DEADLINE_EXCEEDED",
    });
    const slow = api.memory.rememberMany(late(2_000, { owner, entries: [newEntry({})] }), { headers });
    expect(await failureOf(slow)).toMatchObject({ code: Code.DeadlineExceeded, reason: "DEADLINE_EXCEEDED" });
  });

  it("may be as long as the caller likes", async () => {
    const owner = api.owner();
    await api.memory.remember({ owner, entry: newEntry({}) }, { timeoutMs: 90_000_000 });
    expect(await collect(api.memory.recall({ owner }, { timeoutMs: 90_000_000 }))).toHaveLength(2);
  });
});

contract("A message", (api) => {
  beforeEach(() => api.connect(api.server));

  it("whose metadata is larger than 8 KiB is refused", async () => {
    const owner = api.owner();
    const refused = { code: Code.ResourceExhausted, reason: "METADATA_TOO_LARGE", metadata: { limit: "8192" } };
    const headers = { "x-large": "x".repeat(9_000) };
    expect(await failureOf(api.memory.listEntries({ owner }, { headers }))).toMatchObject(refused);
    expect(await failureOf(api.memory.recall({ owner }, { headers }))).toMatchObject(refused);
    expect(await failureOf(api.memory.rememberMany(stream({ owner }), { headers }))).toMatchObject(refused);
    const enough = { "x-large": "x".repeat(7_000) };
    expect((await api.memory.listEntries({ owner }, { headers: enough })).entries).toEqual([]);
  });

  it("of 4 MiB that breaks another rule is refused for that", async () => {
    const owner = api.owner();
    const text = "x".repeat(MAX_MESSAGE_BYTES - 1_000);
    expect(await failureOf(api.remember(owner, { text }))).toMatchObject({ reason: "TEXT_INVALID" });
  });

  it("of 1 MiB of control characters passes where it is no more than 4 MiB on the wire", async () => {
    const owner = api.owner();
    const text = "\u0001".repeat(1_048_576);
    // JSON takes six bytes for each.
    if (api.transport.name === "connect-json") {
      expect(await failureOf(api.remember(owner, { text }))).toMatchObject({ reason: "MESSAGE_TOO_LARGE" });
      return;
    }
    await api.remember(owner, { id: "a", text });
    expect((await api.memory.getEntry({ owner, id: "a" })).entry?.text === text).toBe(true);
  });

  it("of more than 4 MiB ends a stream, too", async () => {
    const owner = api.owner();
    const entries = Array.from({ length: 5 }, () => newEntry({ text: "x".repeat(1_000_000) }));
    const error = await caught(
      api.memory.rememberMany(stream({ owner, entries: [] }, { entries }), { timeoutMs: 5_000 }),
    );
    expect(error.code).toBe(Code.ResourceExhausted);
    await api.memory.remember({ owner, entry: newEntry({}) }, { timeoutMs: 2_000 });
  });

  it("of more than 4 MiB is refused, again and again, and the connection goes on", async () => {
    const owner = api.owner();
    for (const bytes of [MAX_MESSAGE_BYTES + 1, 6_000_000, 8_000_000, 8_000_000, 8_000_000]) {
      const tooLarge = { owner, entry: newEntry({ text: "x".repeat(bytes) }) };
      expect(await failureOf(rememberAnySize(api, tooLarge))).toMatchObject({
        code: Code.ResourceExhausted,
        reason: "MESSAGE_TOO_LARGE",
        metadata: { limit: String(MAX_MESSAGE_BYTES) },
      });
      await api.memory.remember({ owner, entry: newEntry({}) }, { timeoutMs: 2_000 });
    }
    expect((await recall(api, owner)).texts).toHaveLength(5);
  });
});

async function* late<T>(ms: number, message: T): AsyncGenerator<T> {
  yield message;
  await new Promise((resolve) => setTimeout(resolve, ms).unref());
  yield message;
}
