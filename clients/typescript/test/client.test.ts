import { createServer } from "node:net";
import { ServerCredentials, status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { createMemoryClient, parseAddress, ReverieError } from "../src/index.js";
import { failure, startFake } from "./support/fake-server.js";
import { collect, connect, failureOf, later } from "./support/harness.js";
import { selfSigned } from "./support/tls.js";

type Reply = (error: unknown, message?: unknown) => void;
const owner = "agent/x";

describe("address", () => {
  test.each([
    ["127.0.0.1:50051", { target: "127.0.0.1:50051", secure: false, loopback: true }],
    ["localhost:1", { target: "localhost:1", secure: false, loopback: true }],
    ["[::1]:50051", { target: "[::1]:50051", secure: false, loopback: true }],
    ["http://127.3.4.5:80/", { target: "127.3.4.5:80", secure: false, loopback: true }],
    ["https://memory.example.org:443", { target: "memory.example.org:443", secure: true, loopback: false }],
    ["127.0.0.1.example.org:5", { target: "127.0.0.1.example.org:5", secure: false, loopback: false }],
  ])("%s", (address, endpoint) => {
    expect(parseAddress(address, false)).toEqual(endpoint);
  });

  test.each([
    "",
    "localhost",
    "http://localhost",
    "https://host:443/path",
    "http://user@host:1",
    "dns:///host:1",
    "unix:/tmp/s",
    "unix:///tmp/s",
    "::1:50051",
    "host:0",
    "host:65536",
    "host:port",
    "host:1,other:2",
    " host:1",
  ])("refused: %j", async (address) => {
    const error = await failureOf(() => createMemoryClient({ address }));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", reason: "ADDRESS_INVALID" });
    expect(error.message).toContain("host:port");
  });

  test("http:// contradicts tls", async () => {
    const run = () => createMemoryClient({ address: "http://127.0.0.1:1", tls: true });
    expect((await failureOf(run)).reason).toBe("ADDRESS_INVALID");
  });
});

describe("options", () => {
  test("a token leaves this machine only encrypted, or when told", async () => {
    const error = await failureOf(() => createMemoryClient({ address: "10.0.0.1:50051", token: "t" }));
    expect(error.reason).toBe("TOKEN_INSECURE");
    for (const options of [
      { address: "10.0.0.1:50051", insecure: true },
      { address: "https://10.0.0.1:50051" },
      { address: "10.0.0.1:50051", tls: true },
      { address: "localhost:50051" },
    ]) {
      createMemoryClient({ ...options, token: "t" }).close();
    }
  });

  test.each([
    { token: "a b" },
    { token: "t\n" },
    { token: "" },
    { timeoutMs: -1 },
    { timeoutMs: Number.NaN },
    { keepaliveMs: 5_000 },
  ])("refused: %j", async (options) => {
    const error = await failureOf(() => createMemoryClient({ address: "127.0.0.1:1", ...options }));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", reason: "OPTION_INVALID" });
  });

  test("the token travels as a bearer, over TLS too", async () => {
    const seen: unknown[] = [];
    const forget = (call: { metadata: { get(key: string): unknown[] } }, reply: Reply) => {
      seen.push(call.metadata.get("authorization")[0]);
      reply(null, {});
    };
    const { client } = await connect({ forget }, { token: "s3cret" });
    await client.handle(owner).forget("a");
    const { key, cert } = await selfSigned();
    const credentials = ServerCredentials.createSsl(null, [
      { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) },
    ]);
    const server = await startFake({ forget }, { credentials });
    const secure = createMemoryClient({
      address: `https://${server.address}`,
      token: "t2",
      tls: { ca: cert, serverName: "reverie.test" },
    });
    const distrusting = createMemoryClient({ address: server.address, tls: true, retry: { maxAttempts: 1 } });
    later(() => {
      secure.close();
      distrusting.close();
      server.stop();
    });
    await secure.handle(owner).forget("a");
    expect(seen).toEqual(["Bearer s3cret", "Bearer t2"]);
    const error = await failureOf(distrusting.handle(owner).forget("a"));
    expect(error).toMatchObject({ code: "UNAVAILABLE", reason: "CONNECTION_FAILED" });
    expect(error.message).toContain("TLS");
  });
});

describe("arguments", () => {
  const client = createMemoryClient({ address: "127.0.0.1:1" });

  test.each([
    ["k must be a whole number, 0 or more, not 1.5.", () => client.recall(owner, { k: 1.5 })],
    ["The owner undefined must look like agent/<id>", () => client.recall(undefined as never)],
    ["The owner null must look like agent/<id>", () => client.recall(null as never)],
    ['The owner "bot/ada" must look like agent/<id>: one of agent, workflow-run,', () => client.recall("bot/ada")],
    [
      "afterSeq must be a number: 0, or a seq that the service gave, not 0n.",
      () => client.watch(owner, { afterSeq: 0n as never }).next(),
    ],
    [
      '"mta" is no key of a memory to store; those are kind, text, meta, id, ts.',
      () => client.remember(owner, { kind: "working", text: "t", mta: {} } as never),
    ],
    ["A memory to store must be an object, not undefined.", () => client.remember(owner, undefined as never)],
  ])("%s", async (message, run) => {
    const error = await failureOf(run);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", reason: "FIELD_INVALID" });
    expect(error.message).toContain(message);
  });
});

describe("errors", () => {
  test("connection refused names the address and npm start", async () => {
    const probe = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => probe.once("listening", resolve));
    const { port } = probe.address() as { port: number };
    await new Promise((resolve) => probe.close(resolve));
    const client = createMemoryClient({ address: `127.0.0.1:${port}`, retry: { maxAttempts: 2 } });
    later(() => client.close());
    for (const run of [() => client.handle(owner).forget("a"), () => collect(client.recallStream(owner))]) {
      const error = await failureOf(run);
      expect(error).toMatchObject({ code: "UNAVAILABLE", reason: "CONNECTION_FAILED", retryable: true });
      expect(error.message).toContain(`127.0.0.1:${port}`);
      expect(error.message).toContain("npm start");
      expect(error.cause).toBeInstanceOf(Error);
    }
  });

  test("a host that never answers", async () => {
    // Listens, but nobody accepts the HTTP/2 connection.
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    later(() => silent.close());
    const { port } = silent.address() as { port: number };
    const client = createMemoryClient({ address: `127.0.0.1:${port}`, timeoutMs: 200 });
    later(() => client.close());
    const error = await failureOf(client.handle(owner).forget("a"));
    expect(error.code).toBe("DEADLINE_EXCEEDED");
    expect(error.message).toContain("200 ms");
  });

  test("a rich error: reason, metadata, violations, retry delay, exact message", async () => {
    const forget = (_call: unknown, reply: Reply) =>
      reply(
        failure(status.INVALID_ARGUMENT, "owner.id: don't use “/”, 100%", {
          reason: "FIELD_INVALID",
          metadata: { a: "1" },
          violations: [{ field: "owner.id", description: "no slash" }],
          retryAfterMs: 1_500,
        }),
      );
    const { client } = await connect({ forget });
    const error = await failureOf(client.memory.forget({ id: "a" }));
    expect(error).toBeInstanceOf(ReverieError);
    expect(error).toMatchObject({
      name: "ReverieError",
      code: "INVALID_ARGUMENT",
      reason: "FIELD_INVALID",
      message: "owner.id: don't use “/”, 100%",
      metadata: { a: "1" },
      violations: [{ field: "owner.id", description: "no slash" }],
      retryAfterMs: 1_500,
    });
  });

  test("a reason that this client doesn't know is passed on", async () => {
    const forget = (_call: unknown, reply: Reply) =>
      reply(failure(status.FAILED_PRECONDITION, "new", { reason: "NEWER_THAN_YOU" }));
    const { client } = await connect({ forget });
    expect(await failureOf(client.handle(owner).forget("a"))).toMatchObject({ reason: "NEWER_THAN_YOU" });
  });

  test("a status without details is explained", async () => {
    const { client } = await connect({
      forget: (_call: unknown, reply: Reply) => reply({ code: status.UNAUTHENTICATED, details: "no%3A token" }),
      clear: (_call: unknown, reply: Reply) => reply({ code: status.INTERNAL, details: "boom" }),
    });
    const unauthenticated = await failureOf(client.handle(owner).forget("a"));
    expect(unauthenticated).toMatchObject({ code: "UNAUTHENTICATED", reason: "UNAUTHENTICATED" });
    expect(unauthenticated.message).toMatch(/no: token.*`token`/);
    expect(await failureOf(client.handle(owner).clear())).toMatchObject({ code: "INTERNAL", reason: "UNKNOWN" });
    const missing = await failureOf(client.handle(owner).list());
    expect(missing).toMatchObject({ code: "UNIMPLEMENTED", reason: "UNIMPLEMENTED" });
    expect(missing.message).toContain("50051");
  });

  test("a message over 4 MiB", async () => {
    const { client } = await connect({ remember: (_call: unknown, reply: Reply) => reply(null, {}) });
    const error = await failureOf(
      client.handle(owner).remember({ kind: "working", text: "x".repeat(5 * 1024 * 1024) }),
    );
    expect(error).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "MESSAGE_TOO_LARGE" });
  });

  test("deadline and cancel", async () => {
    const { client } = await connect({ forget: () => {} }, { timeoutMs: 100 });
    const late = await failureOf(client.handle(owner).forget("a"));
    expect(late).toMatchObject({ code: "DEADLINE_EXCEEDED", reason: "DEADLINE_EXCEEDED", retryable: true });
    expect(late.message).toContain("100 ms");
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 20);
    const gone = await failureOf(client.memory.forget({ id: "a" }, { signal: controller.signal, timeoutMs: 0 }));
    expect(gone).toMatchObject({ code: "CANCELLED", reason: "CANCELLED", retryable: false });
  });

  test("after close", async () => {
    const { client } = await connect({ forget: () => {} });
    const running = failureOf(client.handle(owner).forget("a"));
    client.close();
    client.close();
    expect(await running).toMatchObject({ code: "CANCELLED", reason: "CLIENT_CLOSED" });
    const error = await failureOf(client.handle(owner).forget("a"));
    expect(error).toMatchObject({ code: "CANCELLED", reason: "CLIENT_CLOSED" });
    expect(error.message).toContain("createMemoryClient");
  });
});
