import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryClient, type MemoryClient } from "@reverie/client";
import { MemoryServer, memoryOptions } from "@reverie/memory-service";
import { createLogger, parseOptions } from "@reverie/service-kit";

export interface Service {
  readonly address: string;
  readonly dir: string;
  readonly dataDir: string;
  readonly client: MemoryClient;
  /** For the command. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
  /** Again, on the same port and data. */
  start(): Promise<void>;
  /** Stops it and removes what is left. */
  end(): Promise<void>;
}

/** A memory service in this process, on a real socket, with a directory of its own. */
export async function startService(flags: Readonly<Record<string, string>> = {}, token?: string): Promise<Service> {
  const dir = await mkdtemp(join(tmpdir(), "reverie-cli-"));
  const dataDir = join(dir, "data");
  const tokensFile = join(dir, "tokens");
  if (token !== undefined) await writeFile(tokensFile, `hub:${token}\n`, { mode: 0o600 });
  let address = "127.0.0.1:0";
  let server: MemoryServer;
  const start = async () => {
    const all = { grpcAddress: address, httpAddress: "off", dataDir, ...(token && { tokensFile }), ...flags };
    const { config } = parseOptions(memoryOptions, { flags: all, env: {} });
    server = await MemoryServer.create(config, { logger: createLogger({ name: "test", level: "fatal" }) });
    address = (await server.start()).grpc as string;
  };
  await start();
  const client = createMemoryClient({ address, ...(token && { token }) });
  return {
    address,
    dir,
    dataDir,
    client,
    env: { REVERIE_ADDRESS: address, ...(token && { REVERIE_TOKEN: token }) },
    start,
    stop: () => server.stop({ graceMs: 200 }),
    async end() {
      client.close();
      await server.stop({ graceMs: 200 });
      await rm(dir, { recursive: true, force: true });
    },
  };
}
