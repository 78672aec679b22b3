import http2 from "node:http2";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { afterEach, expect, test } from "vitest";
import { allCallers, describeFailure, failureOf, owner, rememberRequest } from "./support/clients.js";
import { startTestServer, stopTestServers } from "./support/test-server.js";

afterEach(stopTestServers);

test("a stop with 100 open streams on each listener ends them as UNAVAILABLE and is quick", async () => {
  let open = 0;
  let cleaned = 0;
  const server = await startTestServer({
    async *recall(_request, context) {
      open++;
      try {
        yield {};
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
      } finally {
        cleaned++;
      }
    },
  });
  const callers = allCallers(server);
  const streams = callers.flatMap((caller) => {
    const count = caller.name.includes("h1") ? 10 : 100;
    return Array.from({ length: count }, async () => {
      const failure = await failureOf(caller.recall({ owner }));
      return { caller: caller.name, code: failure.code, reason: failure.reason };
    });
  });
  await expect.poll(() => open, { timeout: 10_000 }).toBe(streams.length);
  const startedAt = performance.now();
  await Promise.all([server.stop(), server.stop()]);
  expect(performance.now() - startedAt).toBeLessThan(1500);
  for (const failure of await Promise.all(streams)) {
    expect(failure).toMatchObject({ code: Code.Unavailable, reason: "DRAINING" });
  }
  expect(cleaned).toBe(streams.length);
  for (const caller of callers) caller.close();
});

test("calls in flight finish within the grace while new ones are refused with advice", async () => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let calls = 0;
  const server = await startTestServer({
    remember: async () => {
      calls++;
      await released;
      return { seq: 7n };
    },
  });
  const callers = allCallers(server);
  const inFlight = callers.map((caller) => caller.unary("remember", rememberRequest));
  await expect.poll(() => calls).toBe(callers.length);
  const stopped = server.stop(5000);
  for (const caller of callers) {
    const failure = await failureOf(caller.unary("remember", rememberRequest));
    expect(failure, caller.name).toMatchObject({ code: Code.Unavailable, reason: "DRAINING", retryMs: 1000 });
  }
  const health = await fetch(`http://127.0.0.1:${server.httpPort}/healthz`);
  expect([health.status, await health.json()]).toEqual([503, { live: true, ready: false, message: "shutting down" }]);
  release();
  for (const answer of await Promise.all(inFlight)) expect(answer).toMatchObject({ seq: 7n });
  await stopped;
  for (const caller of callers) caller.close();
});

test("a call that outlasts the grace is ended, and the stop with it; nobody says that nothing was done", async () => {
  const server = await startTestServer({ remember: () => new Promise(() => {}) });
  const callers = allCallers(server);
  const calls = callers.map((caller) =>
    caller.unary("remember", rememberRequest).then(
      () => "answered",
      (error) => describeFailure(error),
    ),
  );
  await sleep(200);
  const startedAt = performance.now();
  await server.stop(200);
  expect(performance.now() - startedAt).toBeLessThan(1500);
  const interrupted = { code: Code.Unavailable, reason: "INTERRUPTED", retryMs: 1000 };
  expect(await Promise.all(calls)).toMatchObject(callers.map(() => interrupted));
  for (const caller of callers) caller.close();
});

test("a stream of requests is cut off at once, and may have been carried out in part", async () => {
  let taken = 0;
  const server = await startTestServer({
    rememberMany: async (requests) => {
      for await (const _ of requests) taken++;
      return new Promise(() => {});
    },
  });
  const callers = allCallers(server);
  const calls = callers.map((caller) => failureOf(caller.rememberMany([{ owner }])));
  await expect.poll(() => taken).toBe(callers.length);
  await server.stop(5000);
  const interrupted = { code: Code.Unavailable, reason: "INTERRUPTED", retryMs: 1000 };
  expect(await Promise.all(calls)).toMatchObject(callers.map(() => interrupted));
  for (const caller of callers) caller.close();
});

test("idle and silent connections don't hold a stop up", async () => {
  const server = await startTestServer({});
  const sockets = [server.grpcPort, server.httpPort].flatMap((port) => [
    net.connect(port, "127.0.0.1"),
    net.connect(port, "127.0.0.1").on("connect", function (this: net.Socket) {
      this.write("GET / HT");
    }),
  ]);
  const sessions = [server.grpcPort, server.httpPort].map((port) => http2.connect(`http://127.0.0.1:${port}`));
  for (const peer of [...sockets, ...sessions]) peer.on("error", () => {});
  await fetch(`http://127.0.0.1:${server.httpPort}/healthz`);
  await sleep(200);
  const startedAt = performance.now();
  await server.stop();
  expect(performance.now() - startedAt).toBeLessThan(1500);
  for (const peer of [...sockets, ...sessions]) peer.destroy();
});

test("a stop before the start, and a stop again after it, return", async () => {
  const server = await startTestServer({});
  await server.stop();
  await server.stop();
  const second = await startTestServer({}, { grpc: undefined });
  expect(second.grpcPort).toBe(0);
  await second.stop();
});

test("a busy port says so, and nothing stays open", async () => {
  const first = await startTestServer({});
  const grpc = startTestServer({}, { grpc: { host: "127.0.0.1", port: first.grpcPort } });
  await expect(grpc).rejects.toThrow(/grpcAddress: can't listen on 127\.0\.0\.1:\d+: another process has this port/);
  const http = startTestServer({}, { http: { host: "127.0.0.1", port: first.httpPort } });
  await expect(http).rejects.toThrow(/httpAddress: can't listen on .*another process has this port/);
});
