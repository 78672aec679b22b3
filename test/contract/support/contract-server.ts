import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryServer, type MemoryServerOverrides, memoryOptions } from "@reverie/memory-service";
import { createLogger, parseOptions } from "@reverie/service-kit";
import type { MemoryStore } from "../../../memory-service/src/store/store.js";

export interface ContractServerOptions {
  /** By option key, as on the command line. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly overrides?: Omit<MemoryServerOverrides, "store">;
  /** Opens what takes the place of the files' own store. */
  readonly store?: (dataDir: string) => Promise<MemoryStore>;
  /** A line each; without any, no token is needed. */
  readonly tokens?: string;
}

export interface ContractServer {
  /** host:port of native gRPC. */
  readonly grpc: string;
  /** host:port of Connect and gRPC-Web. */
  readonly http: string;
  readonly dataDir: string;
  /** Writes a file below the directory of an owner, which must not be open yet. */
  plant(owner: string, file: string, content: string | Uint8Array): Promise<void>;
  /** As SIGTERM does. */
  shutDown(): Promise<void>;
  /** Starts it again, on the same ports and data. */
  restart(): Promise<void>;
  /** Stops it for good, and removes its data. */
  stop(): Promise<void>;
}

/** A whole memory-service in this process, on free ports and a directory of its own. */
export async function startContractServer(options: ContractServerOptions = {}): Promise<ContractServer> {
  const home = await mkdtemp(join(tmpdir(), "reverie-contract-"));
  const dataDir = join(home, "data");
  const flags: Record<string, string> = {
    dataDir,
    grpcAddress: "127.0.0.1:0",
    httpAddress: "127.0.0.1:0",
    ...options.flags,
  };
  if (options.tokens !== undefined) {
    flags.tokensFile = join(home, "tokens");
    await writeFile(flags.tokensFile, options.tokens, { mode: 0o600 });
  }
  let server: MemoryServer;
  const start = async (): Promise<{ grpc: string; http: string }> => {
    const { config } = parseOptions(memoryOptions, { flags, env: {} });
    const logger = createLogger({ name: "contract", level: "fatal" });
    const store = await options.store?.(dataDir);
    server = await MemoryServer.create(config, { logger }, { ...options.overrides, ...(store && { store }) });
    const { grpc = "", http = "" } = await server.start();
    return { grpc, http };
  };
  const { grpc, http } = await start();
  return {
    grpc,
    http,
    dataDir,
    async plant(owner, file, content) {
      await mkdir(join(dataDir, owner), { recursive: true });
      await writeFile(join(dataDir, owner, file), content);
    },
    shutDown: () => server.stop({ graceMs: 2_000 }),
    async restart() {
      await server.stop({ graceMs: 0 });
      Object.assign(flags, { grpcAddress: grpc, httpAddress: http });
      await start();
    },
    async stop() {
      await server.stop({ graceMs: 0 });
      await rm(home, { recursive: true, force: true });
    },
  };
}
