import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { clientOf, startService, temporaryDirectory } from "./support/service.js";

const METHOD = "/reverie.memory.v1.MemoryService/GetEntry";

async function open(address: string): Promise<Socket> {
  const [host, port] = address.split(":");
  const socket = connect(Number(port), host);
  // The service may close on us; that is its right.
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, "connect");
  return socket;
}

/** What comes back until the service closes the connection. */
async function answer(address: string, bytes: string | Buffer): Promise<string> {
  const socket = await open(address);
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  socket.end(bytes);
  await once(socket, "close");
  return received;
}

async function http2Status(address: string, authority: string): Promise<unknown> {
  const session = connectHttp2(`http://${address}`);
  onTestFinished(() => session.destroy());
  const stream = session.request({
    ":method": "POST",
    ":path": METHOD,
    ":authority": authority,
    "content-type": "application/json",
  });
  stream.end("{}");
  const [headers] = await once(stream, "response");
  return headers[":status"];
}

test("hostile HTTP gets 400 where an answer is due, and the service lives", async () => {
  const service = await startService({ dataDir: join(temporaryDirectory(), "data"), http: true });
  const body = "content-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

  // Half-open sockets stay there all the while.
  for (const address of [service.http, service.grpc]) {
    await open(address);
    (await open(address)).write(`POST ${METHOD} HTTP/1.1\r\nHost: x\r\ncontent-length: 100\r\n\r\n{`);
    (await open(address)).write("PRI * HTTP/2.0\r\n\r\nSM");
  }

  expect(await answer(service.http, `POST ${METHOD} HTTP/1.1\r\nHost: [bad\r\n${body}`)).toMatch(/^HTTP\/1\.1 400 /);
  expect(await answer(service.http, `POST ${METHOD} HTTP/1.0\r\n${body}`)).toMatch(/^HTTP\/1\.[01] 400 /);
  expect(await http2Status(service.http, "[bad")).toBe(400);
  for (const address of [service.http, service.grpc]) {
    await answer(address, Buffer.from([0, 1, 2, 250, 251, 13, 10, 13, 10]));
    await answer(address, Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.alloc(64, 0xff)]));
  }

  const client = clientOf(service);
  await client.remember("agent/x", { kind: "episodic", id: "a", text: "still here" });
  expect((await client.get("agent/x", "a"))?.text).toBe("still here");
  expect((await fetch(`http://${service.http}/healthz`)).status).toBe(200);
  expect(await service.end("SIGTERM")).toMatchObject({ code: 0 });
});
