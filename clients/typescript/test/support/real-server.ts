import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryServer, memoryOptions } from "@reverie/memory-service";
import { createLogger, parseOptions } from "@reverie/service-kit";
import type { MemoryClient, MemoryClientOptions } from "../../src/index.js";
import { createMemoryClient } from "../../src/index.js";

export interface RealService {
  readonly address: string;
  readonly dataDir: string;
  client(options?: Partial<MemoryClientOptions>): MemoryClient;
  /** Stops it as SIGTERM does, and starts it again on the same port and data after `pauseMs`. */
  restart(pauseMs?: number): Promise<void>;
  stop(): Promise<void>;
}

/** A memory-service in this process, on a free port and a directory of its own. */
export async function startReal(tokens?: string): Promise<RealService> {
  const dataDir = await mkdtemp(join(tmpdir(), "reverie-client-"));
  const clients: MemoryClient[] = [];
  let address = "127.0.0.1:0";
  let server: MemoryServer;
  const tokensFile = `${dataDir}.tokens`;
  if (tokens !== undefined) await writeFile(tokensFile, tokens, { mode: 0o600 });
  const start = async () => {
    const flags = { grpcAddress: address, httpAddress: "off", dataDir, ...(tokens !== undefined && { tokensFile }) };
    const { config } = parseOptions(memoryOptions, { flags, env: {} });
    server = await MemoryServer.create(config, { logger: createLogger({ name: "test", level: "fatal" }) });
    address = (await server.start()).grpc as string;
  };
  await start();
  return {
    address,
    dataDir,
    client(options = {}) {
      const client = createMemoryClient({ address, ...options });
      clients.push(client);
      return client;
    },
    async restart(pauseMs = 0) {
      await server.stop({ graceMs: 200 });
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      await start();
    },
    async stop() {
      for (const client of clients) client.close();
      await server.stop({ graceMs: 200 });
      await rm(dataDir, { recursive: true, force: true });
      await rm(tokensFile, { force: true });
    },
  };
}
