import http2 from "node:http2";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import type { ClientReadableStream } from "@grpc/grpc-js";
import { MemoryService } from "@reverie/proto/memory";
import { afterEach, describe, expect, test } from "vitest";
import { decoder, encoder, owner, pathOf, rawClient } from "./support/clients.js";
import { startTestServer, stopTestServers, type TestServer } from "./support/test-server.js";

afterEach(stopTestServers);

const transports: [string, (server: TestServer) => Transport][] = [
  ["grpc-js", (server) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.grpcPort}` })],
  ["connect h1", (server) => createConnectTransport({ baseUrl: http(server), httpVersion: "1.1" })],
  ["connect h2", (server) => createConnectTransport({ baseUrl: http(server), httpVersion: "2" })],
];

function http(server: TestServer): string {
  return `http://127.0.0.1:${server.httpPort}`;
}

function openRecall(server: TestServer): ClientReadableStream<unknown> & { client: { close(): void } } {
  const client = rawClient(server);
  const method = MemoryService.method.recall;
  const stream = client.makeServerStreamRequest(pathOf(method), encoder(method), decoder(method), { owner });
  stream.on("error", () => {});
  return Object.assign(stream, { client });
}

describe.each(transports)("over %s", (_name, transport) => {
  test("cancel aborts the signal and runs the generator's finally, wherever it stands", async () => {
    const events: string[] = [];
    const server = await startTestServer({
      async *recall(request, context) {
        context.signal.addEventListener("abort", () => events.push(`abort ${request.text}`));
        try {
          yield {};
          if (request.text === "busy") {
            await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
          }
          for (;;) {
            yield { event: { case: "batch", value: { entries: [{ text: "x".repeat(65_536) }] } } };
          }
        } finally {
          events.push(`finally ${request.text}`);
        }
      },
    });
    const client = createClient(MemoryService, transport(server));
    for (const text of ["busy", "stalled"]) {
      const controller = new AbortController();
      const stream = client.recall({ owner, text }, { signal: controller.signal })[Symbol.asyncIterator]();
      await stream.next();
      // The stalled one fills every buffer on the way and then waits in a write.
      await sleep(300);
      controller.abort();
      await stream.next().catch(() => {});
      await expect
        .poll(() => events.filter((event) => event.endsWith(text)).sort())
        .toEqual([`abort ${text}`, `finally ${text}`]);
    }
    expect(await openStreams(server)).toBe(0);
  });

  test("a client stream is read no faster than the handler asks", async () => {
    let handled = 0;
    const server = await startTestServer({
      rememberMany: async (requests) => {
        for await (const _ of requests) {
          if (++handled === 3) await sleep(400);
        }
        return { stored: BigInt(handled) };
      },
    });
    let sent = 0;
    async function* requests() {
      for (; sent < 200; sent++) yield { owner, entries: [{ kind: 1, text: "x".repeat(65_536) }] };
    }
    const answer = createClient(MemoryService, transport(server)).rememberMany(requests());
    await sleep(300);
    expect(handled).toBe(3);
    expect(sent).toBeLessThan(150);
    expect(await answer).toMatchObject({ stored: 200n });
  });

  test("a handler may answer before it read the whole client stream", async () => {
    const server = await startTestServer({
      rememberMany: async (requests) => {
        for await (const _ of requests) return { stopped: true, received: 1n };
        return {};
      },
    });
    async function* requests() {
      for (let index = 0; index < 5; index++) yield { owner };
    }
    const answer = await createClient(MemoryService, transport(server)).rememberMany(requests());
    expect(answer).toMatchObject({ stopped: true, received: 1n });
  });

  test("response headers and trailers of a handler arrive", async () => {
    const server = await startTestServer({
      remember: (_request, context) => {
        expect(context.requestHeader.get("x-asked")).toBe("yes");
        context.responseHeader.set("x-head", "1");
        context.responseTrailer.set("x-tail", "2");
        return {};
      },
    });
    const seen: (string | null)[] = [];
    await createClient(MemoryService, transport(server)).remember(
      { owner, entry: { kind: 1, text: "x" } },
      {
        headers: { "x-asked": "yes" },
        onHeader: (headers) => seen.push(headers.get("x-head")),
        onTrailer: (trailers) => seen.push(trailers.get("x-tail")),
      },
    );
    expect(seen).toEqual(["1", "2"]);
  });
});

test.each(["grpcPort", "httpPort"] as const)("100 stalled readers of %s hold a few messages each", async (port) => {
  let asked = 0;
  const server = await startTestServer({
    async *recall() {
      for (let index = 0; index < 1000; index++) {
        asked++;
        yield { event: { case: "batch", value: { entries: [{ text: "x".repeat(65_536) }] } } };
      }
    },
  });
  const sessions = Array.from({ length: 2 }, () => http2.connect(`http://127.0.0.1:${server[port]}`));
  const body = encoder(MemoryService.method.recall)({ owner });
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]);
  for (const session of sessions) {
    session.on("error", () => {});
    for (let index = 0; index < 50; index++) {
      const stream = session.request({
        ":method": "POST",
        ":path": pathOf(MemoryService.method.recall),
        "content-type": "application/grpc",
        te: "trailers",
      });
      stream.on("error", () => {});
      stream.pause();
      stream.end(frame);
    }
  }
  await expect.poll(() => asked).toBeGreaterThanOrEqual(100);
  await sleep(500);
  // What fits a stream's and its connection's flow-control windows, and one message that waits.
  expect(asked).toBeLessThanOrEqual(400);
  for (const session of sessions) session.destroy();
  await expect.poll(() => openStreams(server)).toBe(0);
});

test("a reader that comes back gets everything", async () => {
  const server = await startTestServer({
    async *recall() {
      for (let index = 0; index < 100; index++) {
        yield { event: { case: "batch", value: { entries: [{ id: String(index), text: "x".repeat(65_536) }] } } };
      }
    },
  });
  const stream = openRecall(server);
  stream.pause();
  await sleep(200);
  let count = 0;
  for await (const _ of stream) count++;
  expect(count).toBe(100);
  stream.client.close();
});

async function openStreams(server: TestServer): Promise<number> {
  const text = await server.server.metrics.metrics();
  return [...text.matchAll(/^reverie_rpc_open_streams\{.*\} (\d+)$/gm)].reduce(
    (sum, match) => sum + Number(match[1]),
    0,
  );
}

test("callers that vanish in the middle of a request are no bug", async () => {
  const server = await startTestServer({
    remember: () => ({}),
    rememberMany: async (requests) => {
      for await (const _ of requests);
      return {};
    },
  });
  const remember = pathOf(MemoryService.method.remember);
  const many = pathOf(MemoryService.method.rememberMany);
  const head = (path: string, type: string) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: 1000\r\n\r\n`;
  for (const [path, type] of [
    [remember, "application/json"],
    [remember, "application/grpc-web+proto"],
    [many, "application/connect+proto"],
  ] as const) {
    const socket = net.connect(server.httpPort, "127.0.0.1", () => socket.write(`${head(path, type)}{"own`));
    await sleep(100);
    socket.destroy();
  }
  for (const port of [server.grpcPort, server.httpPort]) {
    for (const path of [remember, many]) {
      const session = http2.connect(`http://127.0.0.1:${port}`);
      session.on("error", () => {});
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
      stream.on("error", () => {});
      stream.write(Buffer.from([0, 0, 0, 9, 9, 1]));
      await sleep(100);
      session.destroy();
    }
  }
  await expect.poll(() => openStreams(server)).toBe(0);
  await sleep(100);
  expect(server.lines.filter((line) => line.level !== "debug")).toEqual([]);
  expect(await server.server.metrics.metrics()).not.toContain('code="INTERNAL"');
});
