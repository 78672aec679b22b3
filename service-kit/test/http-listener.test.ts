import http2 from "node:http2";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { startTestServer, stopTestServers, type TestServer } from "./support/test-server.js";

afterEach(stopTestServers);

const path = "/reverie.memory.v1.MemoryService/Remember";
const body = JSON.stringify({ owner: { kind: 1, id: "ada" }, entry: { kind: 1, text: "x" } });

async function startServer(options = {}): Promise<TestServer> {
  return startTestServer({ remember: () => ({ seq: 5n }) }, options);
}

/** Sends the pieces with a pause between and returns what comes back until the peer closes or is silent. */
function raw(port: number, pieces: readonly (string | Buffer)[], pauseMs = 20): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = net.connect(port, "127.0.0.1", async () => {
      for (const piece of pieces) {
        if (!socket.destroyed) socket.write(piece);
        await sleep(pauseMs);
      }
    });
    const done = () => {
      socket.destroy();
      resolve(answer);
    };
    // A busy machine may take its time for the first byte.
    socket.setTimeout(5_000, done);
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      socket.setTimeout(250);
    });
    socket.on("error", done);
    socket.on("close", done);
  });
}

function post(headers: string): string {
  return `POST ${path} ${headers}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

async function stillAnswers(server: TestServer): Promise<void> {
  const answer = await raw(server.httpPort, [post("HTTP/1.1\r\nHost: localhost")]);
  expect(answer).toContain('{"seq":"5"}');
}

function h2Status(port: number, headers: http2.OutgoingHttpHeaders, data: string | Buffer = body): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = http2.connect(`http://127.0.0.1:${port}`);
    session.on("error", reject);
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/json",
      ...headers,
    });
    stream.on("error", reject);
    stream.on("response", (response) => {
      resolve(Number(response[":status"]));
      session.destroy();
    });
    stream.end(data);
  });
}

test.each([
  ["a broken Host", "HTTP/1.1\r\nHost: [bad"],
  ["HTTP/1.0 without a Host", "HTTP/1.0"],
  ["HTTP/1.1 without a Host", "HTTP/1.1"],
  ["an empty Host", "HTTP/1.1\r\nHost: "],
  ["a Host with a path", "HTTP/1.1\r\nHost: localhost/x"],
  ["two Hosts", "HTTP/1.1\r\nHost: localhost\r\nHost: [bad"],
])("%s is answered with 400 and the server lives", async (_name, head) => {
  const server = await startServer();
  const answer = await raw(server.httpPort, [post(head)]);
  if (!head.includes("Host: localhost\r\n")) expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  await stillAnswers(server);
});

test.each(["[bad", "", "a b", "localhost:99999", "[::1", "user@localhost"])(
  "an :authority of %j over h2 is refused and the server lives",
  async (authority) => {
    const server = await startServer();
    expect(await h2Status(server.httpPort, { ":authority": authority }).catch(() => 400)).toBe(400);
    await stillAnswers(server);
    expect(await h2Status(server.httpPort, { ":authority": `localhost:${server.httpPort}` })).toBe(200);
  },
);

test("garbage of every kind leaves the server alive, on both listeners", async () => {
  const server = await startServer();
  const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (const port of [server.httpPort, server.grpcPort]) {
    for (const pieces of [
      ["\u0000\u0001\u0002"],
      ["PRI"],
      ["PRI * HTTP/2.0\r\n"],
      [preface, "garbage garbage garbage"],
      ["PRX / HTTP/1.1\r\n\r\n"],
      [`GET ${"x".repeat(100_000)}`],
    ]) {
      await raw(port, pieces);
    }
  }
  await stillAnswers(server);
  const grpc = http2.connect(`http://127.0.0.1:${server.grpcPort}`);
  await new Promise((resolve) => grpc.once("remoteSettings", resolve));
  grpc.destroy();
});

test("the first bytes decide the protocol, however they are cut", async () => {
  const server = await startServer();
  const request = post("HTTP/1.1\r\nHost: localhost\r\nConnection: close");
  expect(await raw(server.httpPort, [...request], 0)).toContain('{"seq":"5"}');
  expect(await raw(server.httpPort, [...request.slice(0, 3), request.slice(3)])).toContain('{"seq":"5"}');
  // An HTTP/2 client whose first bytes come one by one, through a relay.
  const relay = net.createServer((client) => {
    const upstream = net.connect(server.httpPort, "127.0.0.1");
    upstream.pipe(client);
    let sent = 0;
    client.on("data", async (chunk) => {
      client.pause();
      let index = 0;
      for (; sent < 30 && index < chunk.length; sent++, index++) {
        upstream.write(chunk.subarray(index, index + 1));
        await sleep(2);
      }
      upstream.write(chunk.subarray(index));
      client.resume();
    });
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.on("close", () => upstream.destroy());
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  expect(await h2Status((relay.address() as net.AddressInfo).port, {})).toBe(200);
  relay.close();
});

test("a loopback listener answers to loopback names and the allowed ones alone", async () => {
  const server = await startServer({ allowedHosts: ["memory.example"] });
  const status = async (host: string) =>
    /^HTTP\/1\.1 (\d+)/.exec(await raw(server.httpPort, [post(`HTTP/1.1\r\nHost: ${host}`)]))?.[1];
  for (const host of ["localhost", "LOCALHOST:1", "127.0.0.1:8051", "[::1]:8051", "a.localhost", "memory.example:80"]) {
    expect(await status(host), host).toBe("200");
  }
  for (const host of ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "localhost.evil.example"]) {
    expect(await status(host), host).toBe("403");
  }
});

test("/healthz, /livez and /metrics are plain pages, and there is no CORS", async () => {
  let ok = true;
  const health = () => ({ ok, message: ok ? "" : "disk full" });
  const server = await startServer({ health });
  const base = `http://127.0.0.1:${server.httpPort}`;
  const healthy = await fetch(`${base}/healthz`);
  expect([healthy.status, await healthy.json()]).toEqual([200, { live: true, ready: true, message: "" }]);
  ok = false;
  const ill = await fetch(`${base}/healthz?x=1`);
  expect([ill.status, await ill.json()]).toEqual([503, { live: true, ready: false, message: "disk full" }]);
  expect((await fetch(`${base}/livez`)).status).toBe(200);
  expect(await (await fetch(`${base}/metrics`)).text()).toContain("# TYPE reverie_rpc_calls_total counter");
  expect((await fetch(`${base}/nothing`)).status).toBe(404);
  const preflight = await fetch(`${base}${path}`, { method: "OPTIONS", headers: { origin: "http://evil.example" } });
  expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
  expect(preflight.status).toBeGreaterThanOrEqual(400);
});

test("a content type or an HTTP method that isn't taken is answered in words", async () => {
  const server = await startServer();
  const stream = path.replace(/\w+$/, "Recall");
  const send = async (to: string, type: string, method = "POST") => {
    const init = method === "POST" ? { method, body, headers: { "content-type": type } } : { method };
    const response = await fetch(`http://127.0.0.1:${server.httpPort}${to}`, init);
    return [response.status, response.headers.get("allow"), await response.text()];
  };
  const advice = expect.stringMatching(/^Send content-type: application\/json.*\n$/);
  expect(await send(path, "text/plain")).toEqual([415, null, advice]);
  const streamAdvice = expect.stringMatching(/^Recall is a stream: use content-type: application\/connect\+json.*\n$/);
  expect(await send(stream, "application/json")).toEqual([415, null, streamAdvice]);
  expect(await send(path, "", "GET")).toEqual([405, "POST", "Send a POST.\n"]);
  await stillAnswers(server);
});
