import { mkdtempSync, rmSync } from "node:fs";
import https from "node:https";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { credentials } from "@grpc/grpc-js";
import { MemoryService } from "@reverie/proto/memory";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readTlsFiles, type TlsFiles } from "../src/tls-files.js";
import { makeCertificate } from "./support/certificate.js";
import { decoder, encoder, pathOf, rawClient, rememberRequest } from "./support/clients.js";
import { startTestServer, stopTestServers, type TestServer } from "./support/test-server.js";

const dir = mkdtempSync(join(tmpdir(), "reverie-tls-"));
let tls: TlsFiles;
let server: TestServer;

beforeAll(async () => {
  const { certFile, keyFile } = makeCertificate(dir);
  tls = readTlsFiles(certFile, keyFile)!;
  server = await startTestServer({ remember: () => ({ seq: 9n }) }, { tls });
});

afterAll(async () => {
  await stopTestServers();
  rmSync(dir, { recursive: true });
});

test("gRPC over TLS answers a client that trusts the certificate", async () => {
  const client = rawClient(server, credentials.createSsl(tls.cert));
  const method = MemoryService.method.remember;
  const answer = await new Promise((resolve, reject) =>
    client.makeUnaryRequest(pathOf(method), encoder(method), decoder(method), rememberRequest, (error, value) =>
      error ? reject(error) : resolve(value),
    ),
  );
  expect(answer).toMatchObject({ seq: 9n });
  client.close();
});

test("ALPN gives HTTP/2 and HTTP/1.1 on one port", async () => {
  const baseUrl = `https://127.0.0.1:${server.httpPort}`;
  const nodeOptions = { ca: tls.cert };
  for (const transport of [
    createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions }),
    createConnectTransport({ baseUrl, httpVersion: "2", nodeOptions }),
    createGrpcTransport({ baseUrl, nodeOptions }),
  ]) {
    expect(await createClient(MemoryService, transport).remember(rememberRequest)).toMatchObject({ seq: 9n });
  }
  const status = await new Promise((resolve, reject) =>
    https.get(`${baseUrl}/healthz`, { ca: tls.cert }, (response) => resolve(response.statusCode)).on("error", reject),
  );
  expect(status).toBe(200);
});

test("clear text on a TLS port hurts nobody, and a stop is quick", async () => {
  for (const port of [server.grpcPort, server.httpPort]) {
    await new Promise<void>((resolve) => {
      const socket = net.connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\n\r\n"));
      socket.on("error", () => {});
      socket.on("close", () => resolve());
      socket.resume();
    });
  }
  const idle = net.connect(server.httpPort, "127.0.0.1");
  idle.on("error", () => {});
  await new Promise((resolve) => idle.once("connect", resolve));
  const startedAt = performance.now();
  await server.stop();
  expect(performance.now() - startedAt).toBeLessThan(1500);
  idle.destroy();
});
