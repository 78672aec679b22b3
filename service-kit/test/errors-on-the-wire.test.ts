import { readFileSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import { ErrorReason } from "@reverie/proto/info";
import { MemoryService } from "@reverie/proto/memory";
import { afterEach, describe, expect, test } from "vitest";
import { MAX_MESSAGE_BYTES, ReverieError, reasonCode } from "../src/index.js";
import { codeName } from "../src/rpc/rpc-metrics.js";
import { allCallers, failureOf, owner, pathOf, rawClient, rememberRequest } from "./support/clients.js";
import { startTestServer, stopTestServers, type TestServer } from "./support/test-server.js";

afterEach(stopTestServers);

async function failures(server: TestServer, call: "unary" | "recall" | "rememberMany" = "unary") {
  return Promise.all(
    allCallers(server).map(async (caller) => {
      const promise =
        call === "unary"
          ? caller.unary("remember", rememberRequest)
          : call === "recall"
            ? caller.recall({ owner })
            : caller.rememberMany([{ owner }]);
      const failure = await failureOf(promise);
      caller.close();
      return { caller: caller.name, ...failure };
    }),
  );
}

test("the code of every reason is the one that its comment in the proto names", () => {
  const proto = readFileSync(new URL("../../proto/reverie/info/v1/error_reason.proto", import.meta.url), "utf8");
  const promised: Record<string, string> = {};
  for (const match of proto.matchAll(/((?: {2}\/\/.*\n)+) {2}ERROR_REASON_(\w+) = \d+;/g)) {
    const status = /^ {2}\/\/ ([A-Z_]+):/.exec(match[1]!)?.[1];
    if (status !== undefined) promised[match[2]!] = status;
  }
  const actual = Object.fromEntries(Object.entries(reasonCode).map(([reason, code]) => [reason, codeName(code)]));
  expect(actual).toEqual(promised);
  expect(Object.keys(actual)).toHaveLength(Object.keys(ErrorReason).length / 2 - 1);
});

describe("a failure looks the same over every protocol", () => {
  const thrown = () =>
    new ReverieError("ENTRY_EXISTS", "The entry exists: é \ud800 %", {
      metadata: { id: "x\udc00", n: "1" },
      violations: [{ field: "entry.id", description: "taken \udfff" }],
      retryAfterMs: 1500,
    });

  test.each([
    ["unary", { remember: () => Promise.reject(thrown()) }],
    [
      "recall",
      {
        // biome-ignore lint/correctness/useYield: fails before the first message
        async *recall() {
          throw thrown();
        },
      },
    ],
    [
      "recall",
      {
        async *recall() {
          yield {};
          throw thrown();
        },
      },
    ],
    ["rememberMany", { rememberMany: () => Promise.reject(thrown()) }],
    [
      "unary",
      {
        remember: () => {
          throw thrown();
        },
      },
    ],
  ] as const)("thrown in %s", async (kind, impl) => {
    for (const failure of await failures(await startTestServer(impl), kind)) {
      expect(failure).toMatchObject({
        code: Code.AlreadyExists,
        message: "The entry exists: é \ufffd %",
        reason: "ENTRY_EXISTS",
        domain: "reverie",
        metadata: { id: "x\ufffd", n: "1" },
        violations: [{ field: "entry.id", description: "taken \ufffd" }],
        retryMs: 1500,
      });
    }
  });

  test("huge messages and details are cut", async () => {
    const big = "ü".repeat(200_000);
    const server = await startTestServer({
      remember: () => {
        throw new ReverieError("META_INVALID", `${big}\ud800`, {
          metadata: { a: big, b: big, c: big, d: big, e: big },
          violations: Array.from({ length: 1000 }, (_, index) => ({ field: `f[${index}]`, description: big })),
        });
      },
    });
    for (const failure of await failures(server)) {
      expect(failure.code, failure.caller).toBe(Code.InvalidArgument);
      expect(Buffer.byteLength(failure.message)).toBeLessThanOrEqual(1024);
      const details = JSON.stringify([failure.metadata, failure.violations]);
      expect(Buffer.byteLength(details)).toBeLessThan(4500);
      expect(failure.violations.length).toBeGreaterThan(2);
      expect(failure.metadata.violations_omitted).toBe(String(1000 - failure.violations.length));
    }
  });
});

test("a bug becomes INTERNAL with an id that finds the log line, and tells nothing else", async () => {
  const server = await startTestServer({
    remember: () => {
      throw new TypeError("secret /var/lib/thing");
    },
  });
  for (const failure of await failures(server)) {
    expect(failure).toMatchObject({ code: Code.Internal, reason: "INTERNAL" });
    expect(failure.message).not.toContain("secret");
    const line = server.lines.find((entry) => entry.error_id === failure.metadata.error_id);
    expect(line).toMatchObject({ level: "error", err: { message: "secret /var/lib/thing" } });
  }
});

test("a method that nobody wrote is UNIMPLEMENTED", async () => {
  for (const failure of await failures(await startTestServer({}))) {
    expect(failure).toMatchObject({ code: Code.Unimplemented, reason: "UNIMPLEMENTED" });
  }
});

test("a message over 4 MiB is MESSAGE_TOO_LARGE, either way", async () => {
  const text = "x".repeat(MAX_MESSAGE_BYTES);
  const server = await startTestServer({ remember: () => ({ entry: { text } }), rememberMany: countAll });
  for (const caller of allCallers(server)) {
    const tooLarge = { code: Code.ResourceExhausted, reason: "MESSAGE_TOO_LARGE", metadata: { limit: "4194304" } };
    const request = { owner, entry: { kind: 1, text } };
    expect(await failureOf(caller.unary("remember", request)), caller.name).toMatchObject(tooLarge);
    expect(await failureOf(caller.rememberMany([{ owner, entries: [request.entry] }])), caller.name).toMatchObject(
      tooLarge,
    );
    expect(await failureOf(caller.unary("remember", rememberRequest)), caller.name).toMatchObject(tooLarge);
    caller.close();
  }
});

test("bytes and JSON that make no message are FIELD_INVALID", async () => {
  const server = await startTestServer({ remember: () => ({}) });
  const url = `http://127.0.0.1:${server.httpPort}/reverie.memory.v1.MemoryService/Remember`;
  const bad = [
    ["application/json", "{nope"],
    ["application/json", '{"unknownField":1}'],
    ["application/proto", "\u0007\u0007\u0007"],
  ] as const;
  for (const [type, body] of bad) {
    const answer = await fetch(url, { method: "POST", headers: { "content-type": type }, body });
    expect(answer.status).toBe(400);
    const error = (await answer.json()) as { code: string; details: { type: string; debug: object }[] };
    expect(error.code).toBe("invalid_argument");
    expect(error.details[0]).toMatchObject({ type: "google.rpc.ErrorInfo", debug: { reason: "FIELD_INVALID" } });
  }
  const client = rawClient(server);
  const failure = await failureOf(
    new Promise((resolve, reject) =>
      client.makeUnaryRequest(
        pathOf(MemoryService.method.remember),
        () => Buffer.from([7, 7, 7]),
        (bytes) => bytes,
        {},
        (error, value) => (error ? reject(error) : resolve(value)),
      ),
    ),
  );
  client.close();
  expect(failure).toMatchObject({ code: Code.InvalidArgument, reason: "FIELD_INVALID" });
});

test("an unknown method or service is UNIMPLEMENTED with our details", async () => {
  const server = await startTestServer({});
  const client = rawClient(server);
  for (const path of ["/reverie.memory.v1.MemoryService/Nope", "/no.Such/Thing", "/grpc.health.v1.Health/Nope"]) {
    const call = new Promise((resolve, reject) =>
      client.makeUnaryRequest(
        path,
        () => Buffer.alloc(0),
        (bytes) => bytes,
        {},
        (error, value) => (error ? reject(error) : resolve(value)),
      ),
    );
    expect(await failureOf(call)).toMatchObject({ code: Code.Unimplemented, reason: "UNIMPLEMENTED" });
    const answer = await fetch(`http://127.0.0.1:${server.httpPort}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(await answer.json()).toMatchObject({ code: "unimplemented" });
  }
  client.close();
});

async function countAll(requests: AsyncIterable<unknown>) {
  let stored = 0n;
  for await (const _ of requests) stored++;
  return { stored };
}
