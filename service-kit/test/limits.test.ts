import { createClient } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { MemoryService } from "@reverie/proto/memory";
import { Registry } from "prom-client";
import { afterEach, expect, test } from "vitest";
import { createLogger, MAX_MESSAGE_BYTES, type ReverieError, rpcService, TokenAuth } from "../src/index.js";
import { Guard } from "../src/rpc/guard.js";
import { failureOf, owner, rememberRequest } from "./support/clients.js";
import { startTestServer, stopTestServers } from "./support/test-server.js";

afterEach(stopTestServers);

test("compressed requests are read, and one that unfolds past 4 MiB is MESSAGE_TOO_LARGE", async () => {
  const server = await startTestServer({ remember: ({ entry }) => ({ entry: { text: entry?.text ?? "" } }) });
  const options = { sendCompression: compressionGzip, acceptCompression: [compressionGzip], compressMinBytes: 1 };
  const http = `http://127.0.0.1:${server.httpPort}`;
  for (const transport of [
    createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.grpcPort}`, ...options }),
    createGrpcTransport({ baseUrl: http, ...options }),
    createConnectTransport({ baseUrl: http, httpVersion: "1.1", ...options }),
  ]) {
    const client = createClient(MemoryService, transport);
    const text = "squeezable ".repeat(1000);
    expect((await client.remember({ owner, entry: { kind: 1, text } })).entry?.text).toBe(text);
    const bomb = { owner, entry: { kind: 1, text: "x".repeat(MAX_MESSAGE_BYTES + 1) } };
    expect(await failureOf(client.remember(bomb))).toMatchObject({
      reason: "MESSAGE_TOO_LARGE",
      metadata: { limit: "4194304" },
    });
    expect(await client.remember(rememberRequest)).toMatchObject({ entry: { text: "hello" } });
  }
});

test("a call that sent no deadline is ended when it ran for the longest one", () => {
  const logger = createLogger({ name: "test", level: "silent" });
  const services = [rpcService(MemoryService, {})];
  const guard = new Guard(services, { auth: new TokenAuth(), logger, registry: new Registry() });
  const method = guard.methods.get("/reverie.memory.v1.MemoryService/Remember")!;
  const failures: [string, string][] = [];
  const open = (name: string, expiresAt: number) =>
    guard.opened({ expiresAt, fail: (error: ReverieError) => void failures.push([name, error.reason]) }, method);
  open("old", 1000);
  open("young", 2000);
  open("endless", Number.POSITIVE_INFINITY);
  guard.sweep(999);
  expect(failures).toEqual([]);
  guard.sweep(1500);
  expect(failures).toEqual([["old", "DEADLINE_EXCEEDED"]]);
});

test("a connection takes 100 streams at once; more wait", async () => {
  let open = 0;
  const server = await startTestServer({
    async *recall(_request, context) {
      open++;
      try {
        yield {};
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
      } finally {
        open--;
      }
    },
  });
  for (const port of [server.grpcPort, server.httpPort]) {
    const controllers = Array.from({ length: 120 }, () => new AbortController());
    const client = createClient(MemoryService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }));
    const calls = controllers.map(async ({ signal }) => {
      for await (const _ of client.recall({ owner }, { signal }));
    });
    const settled = Promise.allSettled(calls);
    await expect.poll(() => open).toBe(100);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(open).toBe(100);
    for (const controller of controllers) controller.abort();
    await settled;
    await expect.poll(() => open).toBe(0);
  }
});
