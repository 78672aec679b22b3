import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "./repo.js";

const startupMs = 20_000;

/** A port that nothing listens on now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function waitUntilHealthy(url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + startupMs;
  for (;;) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("memory-service did not start");
    if (Date.now() > deadline) throw new Error(`${url} did not answer within ${startupMs} ms`);
    await sleep(50);
  }
}

export interface RunningService {
  readonly grpcPort: number;
  readonly httpPort: number;
}

/** Starts memory-service with data under `dir`, and after `use` stops it and expects a clean exit. */
export async function withMemoryService(
  command: readonly [string, ...string[]],
  dir: string,
  use: (service: RunningService) => Promise<void>,
): Promise<void> {
  const [grpcPort, httpPort] = [await freePort(), await freePort()];
  const [file, ...args] = command;
  const flags = {
    "--data-dir": join(dir, "data"),
    "--grpc-address": `127.0.0.1:${grpcPort}`,
    "--http-address": `127.0.0.1:${httpPort}`,
    "--log-level": "warn",
  };
  const child = spawn(file, [...args, ...Object.entries(flags).flat()], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  try {
    await waitUntilHealthy(`http://127.0.0.1:${httpPort}/healthz`, child);
    await use({ grpcPort, httpPort });
  } finally {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  if (child.exitCode !== 0) throw new Error(`memory-service ended with ${child.exitCode ?? child.signalCode}`);
}
