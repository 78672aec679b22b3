import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryClient, type MemoryClient, type MemoryClientOptions, type Owner } from "@reverie/client";
import { onTestFinished } from "vitest";
import { type ProcessOptions, ServiceProcess } from "./service-process.js";

/** A directory that goes when the test ends. */
export function temporaryDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), "reverie-e2e-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A service in a process of its own that is gone when the test ends. */
export async function startService(options: ProcessOptions): Promise<ServiceProcess> {
  const service = await ServiceProcess.start(options);
  onTestFinished(async () => {
    await service.end("SIGKILL");
  });
  return service;
}

/** A client that closes when the test ends. */
export function clientOf(service: ServiceProcess, options: Partial<MemoryClientOptions> = {}): MemoryClient {
  const client = createMemoryClient({ address: service.grpc, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** Every line of an owner's logs, parsed. */
export function linesOf(dataDir: string, { kind, id }: Owner): Record<string, unknown>[] {
  const directory = join(dataDir, kind, id);
  const logs = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
  const lines = logs.flatMap((name) => readFileSync(join(directory, name), "utf8").split("\n"));
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, unknown>);
}
