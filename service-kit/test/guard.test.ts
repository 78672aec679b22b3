import { Code } from "@connectrpc/connect";
import { afterEach, expect, test } from "vitest";
import { ConfigError, MAX_DEADLINE_MS, parseTokens } from "../src/index.js";
import { allCallers, failureOf, owner, rememberRequest } from "./support/clients.js";
import { startTestServer, stopTestServers, type TestServer } from "./support/test-server.js";

afterEach(stopTestServers);

async function eachCaller(server: TestServer, check: (caller: ReturnType<typeof allCallers>[number]) => Promise<void>) {
  for (const caller of allCallers(server)) {
    await check(caller);
    caller.close();
  }
}

test("every broken rule of a request is told at once", async () => {
  let calls = 0;
  const server = await startTestServer({
    remember: () => {
      calls++;
      return {};
    },
  });
  const request = { owner: { kind: 0, id: "" }, entry: { kind: 99, text: "x", tsMs: -1n } };
  await eachCaller(server, async (caller) => {
    const failure = await failureOf(caller.unary("remember", request));
    expect(failure, caller.name).toMatchObject({ code: Code.InvalidArgument, reason: "FIELD_INVALID" });
    const byField = Object.fromEntries(failure.violations.map(({ field, description }) => [field, description]));
    expect(Object.keys(byField).sort()).toEqual(["entry.kind", "entry.ts_ms", "owner.id", "owner.kind"]);
    expect(byField["entry.kind"]).toBe("must be one of KIND_EPISODIC, KIND_SEMANTIC, KIND_WORKING");
    expect(byField["owner.kind"]).toContain("OWNER_KIND_AGENT, ");
    expect(byField["owner.id"]).toBe("must not be empty");
    const missing = await failureOf(caller.unary("remember", {}));
    expect(missing.violations).toMatchObject([
      { field: "owner", description: "is required" },
      { field: "entry", description: "is required" },
    ]);
    const stream = await failureOf(caller.recall({ owner, kinds: [1, 0], k: -1 }));
    expect(stream.violations.map(({ field }) => field).sort(), caller.name).toEqual(["k", "kinds[1]"]);
  });
  expect(calls).toBe(0);
});

test("each message of a client stream is validated when the handler asks for it", async () => {
  const seen: number[] = [];
  const server = await startTestServer({
    rememberMany: async (requests) => {
      let count = 0;
      for await (const _ of requests) seen.push(count++);
      return {};
    },
  });
  await eachCaller(server, async (caller) => {
    seen.length = 0;
    const failure = await failureOf(
      caller.rememberMany([{ owner }, { owner }, { owner: { kind: 1, id: "" } }, { owner }]),
    );
    expect(failure, caller.name).toMatchObject({ reason: "FIELD_INVALID", violations: [{ field: "owner.id" }] });
    expect(seen).toEqual([0, 1]);
  });
});

test("without a known token nothing but public methods answers", async () => {
  const auth = parseTokens("# hubs\nhub-a: 0123456789abcdef-a\n0123456789abcdef-b\n", "tokens");
  const server = await startTestServer({ remember: () => ({ seq: 1n }), rememberMany: async () => ({}) }, { auth });
  await eachCaller(server, async (caller) => {
    for (const token of [
      undefined,
      "",
      "Bearer",
      "Bearer nope",
      "Basic 0123456789abcdef-a",
      "Bearer 0123456789abcdef-",
    ]) {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: token };
      const refused = { code: Code.Unauthenticated, reason: "UNAUTHENTICATED" };
      expect(await failureOf(caller.unary("remember", rememberRequest, { headers })), caller.name).toMatchObject(
        refused,
      );
      expect(await failureOf(caller.recall({ owner }, { headers }))).toMatchObject(refused);
      expect(await failureOf(caller.rememberMany([], { headers }))).toMatchObject(refused);
    }
    for (const token of ["0123456789abcdef-a", "0123456789abcdef-b"]) {
      const headers = { authorization: `Bearer ${token}` };
      expect(await caller.unary("remember", rememberRequest, { headers })).toMatchObject({ seq: 1n });
    }
  });
  const base = `http://127.0.0.1:${server.httpPort}`;
  const info = await fetch(`${base}/reverie.info.v1.InfoService/GetServerInfo`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  expect(await info.json()).toMatchObject({
    service: "reverie-test",
    limits: { maxK: 200, maxMessageBytes: "4194304", maxStreamsPerConnection: 100 },
  });
  expect((await fetch(`${base}/healthz`)).status).toBe(200);
  expect((await fetch(`${base}/metrics`)).status).toBe(401);
  const headers = { authorization: "Bearer 0123456789abcdef-a" };
  expect(await (await fetch(`${base}/metrics`, { headers })).text()).toContain("reverie_rpc_calls_total");
});

test("a tokens file's mistakes are told by line and never quote a token", () => {
  expect(() => parseTokens("good-token-0123456789\nname: short\nhas white space in it\n", "t.txt")).toThrow(
    ConfigError,
  );
  try {
    parseTokens("name: s3cret\n", "t.txt");
  } catch (error) {
    expect(String(error)).toContain("t.txt line 1");
    expect(String(error)).not.toContain("s3cret");
  }
  expect(() => parseTokens("# nothing\n", "t.txt")).toThrow("holds no token");
});

test("request metadata over 8 KiB is METADATA_TOO_LARGE", async () => {
  const server = await startTestServer({ remember: () => ({}) });
  await eachCaller(server, async (caller) => {
    const headers = { "x-a": "x".repeat(4500), "x-b": "y".repeat(4500) };
    expect(await failureOf(caller.unary("remember", rememberRequest, { headers })), caller.name).toMatchObject({
      code: Code.ResourceExhausted,
      reason: "METADATA_TOO_LARGE",
      metadata: { limit: "8192" },
    });
    await caller.unary("remember", rememberRequest, { headers: { "x-a": "x".repeat(7000) } });
  });
});

test("a deadline ends a call whose handler doesn't look at it", async () => {
  const reasons: unknown[] = [];
  const server = await startTestServer({
    remember: (_request, context) => {
      context.signal.addEventListener("abort", () => reasons.push(context.signal.reason));
      return new Promise(() => {});
    },
    async *recall(_request, context) {
      yield {};
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
    },
  });
  await eachCaller(server, async (caller) => {
    const late = { code: Code.DeadlineExceeded };
    expect(await failureOf(caller.unary("remember", rememberRequest, { timeoutMs: 100 })), caller.name).toMatchObject(
      late,
    );
    expect(await failureOf(caller.recall({ owner }, { timeoutMs: 100 })), caller.name).toMatchObject(late);
  });
  await expect.poll(() => reasons.length).toBe(6);
});

test("deadlines are clamped to ten minutes, also where grpc-js would overflow", async () => {
  const left: (number | undefined)[] = [];
  const server = await startTestServer({
    remember: (_request, context) => {
      left.push(context.timeoutMs());
      return {};
    },
  });
  await eachCaller(server, async (caller) => {
    for (const timeoutMs of [undefined, 60_000, 1000 * 3_600_000]) {
      const header: Record<string, string> = caller.name.startsWith("connect")
        ? { "connect-timeout-ms": String(timeoutMs) }
        : { "grpc-timeout": timeoutMs === 60_000 ? "1M" : "1000H" };
      await caller.unary("remember", rememberRequest, { headers: timeoutMs === undefined ? {} : header });
      const ms = left.pop()!;
      expect(ms, `${caller.name} ${timeoutMs}`).toBeGreaterThan(
        (timeoutMs === 60_000 ? 60_000 : MAX_DEADLINE_MS) - 5000,
      );
      expect(ms).toBeLessThanOrEqual(timeoutMs === 60_000 ? 60_000 : MAX_DEADLINE_MS);
    }
  });
});

test("methods without a longest deadline have none, and keep one that was asked for", async () => {
  const left: (number | undefined)[] = [];
  const server = await startTestServer({
    async *watch(_request, context) {
      left.push(context.timeoutMs());
      yield {};
    },
  });
  const { createClient } = await import("@connectrpc/connect");
  const { createConnectTransport, createGrpcTransport } = await import("@connectrpc/connect-node");
  const { MemoryService } = await import("@reverie/proto/memory");
  for (const transport of [
    createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.grpcPort}` }),
    createConnectTransport({ baseUrl: `http://127.0.0.1:${server.httpPort}`, httpVersion: "1.1" }),
  ]) {
    const client = createClient(MemoryService, transport);
    for (const minutes of [undefined, 20, 100_000]) {
      const headers = { "grpc-timeout": `${minutes}M`, "connect-timeout-ms": `${(minutes ?? 0) * 60_000}` };
      for await (const _ of client.watch({ owner }, { headers: minutes === undefined ? {} : headers }));
    }
  }
  expect(left.map((ms) => (ms === undefined ? "none" : Math.round(ms / 60_000)))).toEqual([
    "none",
    20,
    "none",
    "none",
    20,
    "none",
  ]);
});

test("a malformed timeout is refused as a field, not as a bug", async () => {
  const server = await startTestServer({ remember: () => ({}) });
  const caller = allCallers(server)[0]!;
  const failure = await failureOf(caller.unary("remember", rememberRequest, { headers: { "grpc-timeout": "soon" } }));
  expect(failure).toMatchObject({ code: Code.InvalidArgument, violations: [{ field: "grpc-timeout" }] });
  caller.close();
});

test("calls are counted by status and never logged with what they carry", async () => {
  const server = await startTestServer({ remember: () => ({}) });
  await eachCaller(server, async (caller) => {
    await caller.unary("remember", { owner, entry: { kind: 1, text: "very secret", metaJson: '{"a":"hidden"}' } });
    await failureOf(caller.unary("remember", {}));
  });
  const text = await server.server.metrics.metrics();
  const labels = 'service="reverie.memory.v1.MemoryService",method="Remember"';
  expect(text).toContain(`reverie_rpc_calls_total{${labels},code="OK"} 6`);
  expect(text).toContain(`reverie_rpc_calls_total{${labels},code="INVALID_ARGUMENT"} 6`);
  expect(text).toContain(`reverie_rpc_duration_seconds_count{${labels}} 12`);
  expect(server.lines.filter((line) => line.msg === "call")).toHaveLength(12);
  expect(JSON.stringify(server.lines)).not.toMatch(/secret|hidden/);
});
