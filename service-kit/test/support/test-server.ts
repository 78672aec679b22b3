import type { ServiceImpl } from "@connectrpc/connect";
import { InfoService } from "@reverie/proto/info";
import { MemoryService, TrashService } from "@reverie/proto/memory";
import {
  createLogger,
  createServer,
  infoService,
  type RpcServer,
  rpcService,
  type ServerOptions,
  TokenAuth,
} from "../../src/index.js";

export interface TestServer {
  readonly server: RpcServer;
  readonly grpcPort: number;
  readonly httpPort: number;
  /** Log lines so far. */
  readonly lines: Record<string, unknown>[];
  stop(graceMs?: number): Promise<void>;
}

const running = new Set<RpcServer>();

/** Both listeners on free ports; MemoryService is served by these handlers. */
export async function startTestServer(
  memory: Partial<ServiceImpl<typeof MemoryService>> = {},
  options: Partial<ServerOptions> = {},
): Promise<TestServer> {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({
    name: "test",
    level: "debug",
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const server = createServer({
    grpc: { host: "127.0.0.1", port: 0 },
    http: { host: "127.0.0.1", port: 0 },
    tls: undefined,
    auth: new TokenAuth(),
    allowedHosts: [],
    drainMs: 1000,
    processMetrics: false,
    logger,
    services: [
      rpcService(MemoryService, memory, { noLongestDeadline: ["watch"] }),
      rpcService(TrashService, {}),
      rpcService(InfoService, infoService(info), { public: true }),
    ],
    ...options,
  });
  running.add(server);
  const bound = await server.start();
  return {
    server,
    grpcPort: portOf(bound.grpc),
    httpPort: portOf(bound.http),
    lines,
    stop: (graceMs) => server.stop(graceMs === undefined ? {} : { graceMs }),
  };
}

export async function stopTestServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.stop({ graceMs: 0 })));
  running.clear();
}

const info = {
  service: "reverie-test",
  version: "1.2.3",
  apiPackages: ["reverie.memory.v1"],
  capabilities: ["recall.streaming"],
  limits: { maxK: 200 },
  durability: "fsync",
};

function portOf(address: string | undefined): number {
  return Number(address?.split(":").at(-1) ?? 0);
}
