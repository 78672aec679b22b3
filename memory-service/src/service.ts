import { InfoService } from "@reverie/proto/info";
import { MemoryService, OwnerService, TrashService } from "@reverie/proto/memory";
import {
  type BoundAddresses,
  ConfigError,
  createServer,
  infoService,
  type ListenOptions,
  type Logger,
  listenOptions,
  type RpcServer,
  type Runnable,
  rpcService,
  type ServiceContext,
  type StopOptions,
} from "@reverie/service-kit";
import { defaultOwnerConfig, type MemoryServiceConfig } from "./config.js";
import type { MemoryContext } from "./domain/context.js";
import * as limits from "./domain/limits.js";
import { registerMetrics } from "./metrics.js";
import { memoryService, ownerService, trashService } from "./rpc/services.js";
import type { Fs } from "./store/jsonl/fs.js";
import { type JsonlStoreOptions, openJsonlStore } from "./store/jsonl/jsonl-store.js";
import { DataDirectoryError } from "./store/jsonl/root.js";
import type { MemoryStore } from "./store/store.js";
import { version } from "./version.js";

export { type MemoryServiceConfig, memoryOptions } from "./config.js";
export { version } from "./version.js";

const NAME = "reverie-memory";
const DAY_MS = 86_400_000;

/** Never renamed; a new meaning takes a new name. */
const CAPABILITIES = [
  "recall.streaming",
  "remember.retry",
  "remember.many",
  "watch.resume",
  "export.jsonl",
  "import.jsonl",
  "read.min_seq",
  "trash",
];

/** What tests put in the place of the real ones. */
export interface MemoryServerOverrides {
  /** Closed by `stop`. */
  readonly store?: MemoryStore;
  readonly fs?: Fs;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
}

/** The memory service: a store, and the listeners in front of it. */
export class MemoryServer implements Runnable {
  private readonly store: MemoryStore;
  private readonly server: RpcServer;
  private stopping: Promise<void> | undefined;

  private constructor(store: MemoryStore, server: RpcServer) {
    this.store = store;
    this.server = server;
  }

  /** Opens the data directory. Throws a `ConfigError`, also when the directory can't be opened. */
  static async create(
    config: MemoryServiceConfig,
    { logger }: ServiceContext,
    overrides: MemoryServerOverrides = {},
  ): Promise<MemoryServer> {
    // Before the data directory is touched: a config that can't be served is refused here.
    const listen = listenOptions(config);
    const defaults = defaultOwnerConfig(config);
    const store =
      overrides.store ??
      (await openDataDirectory({
        root: config.dataDir,
        durability: config.durability,
        syncIntervalMs: config.syncIntervalMs,
        defaults,
        trashRetentionMs: config.trashRetentionDays * DAY_MS,
        maxOpenOwners: config.maxOpenOwners,
        compactMinBytes: config.compactMinBytes,
        log: logger,
        ...(overrides.fs && { fs: overrides.fs }),
        ...(overrides.clock && { now: overrides.clock }),
      }));
    try {
      const now = overrides.clock ?? Date.now;
      return new MemoryServer(store, serve(listen, logger, { store, defaults, now }));
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Opens the listeners. Throws a `ConfigError` when an address can't be bound; all is stopped then. */
  async start(): Promise<BoundAddresses> {
    try {
      return await this.server.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Ends calls, writes what was acknowledged, lets go of the data directory. May be called twice. */
  stop(options?: StopOptions): Promise<void> {
    this.stopping ??= this.server.stop(options).finally(() => this.store.close());
    return this.stopping;
  }
}

function serve(listen: ListenOptions, logger: Logger, context: MemoryContext): RpcServer {
  const { store } = context;
  let countDropped: ((entries: number) => void) | undefined;
  const memory: MemoryContext = { ...context, onDroppedByCaps: (entries) => countDropped?.(entries) };
  const server = createServer({
    ...listen,
    logger,
    services: [
      rpcService(MemoryService, memoryService(memory), { noLongestDeadline: ["watch"] }),
      rpcService(OwnerService, ownerService(memory)),
      rpcService(TrashService, trashService(memory)),
      rpcService(InfoService, infoService(serverInfo(store)), { public: true }),
    ],
    health: () => store.health(),
  });
  countDropped = registerMetrics(server.metrics, store);
  return server;
}

async function openDataDirectory(options: JsonlStoreOptions): Promise<MemoryStore> {
  try {
    return await openJsonlStore(options);
  } catch (error) {
    if (error instanceof DataDirectoryError) throw new ConfigError([error.message]);
    if (isSystemError(error))
      throw new ConfigError([`cannot open the data directory ${options.root}: ${error.message}`]);
    throw error;
  }
}

/** The file system's own; Node's complaints about wrong arguments are bugs. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && typeof error.code === "string" && !error.code.startsWith("ERR_");
}

function serverInfo(store: MemoryStore): Parameters<typeof infoService>[0] {
  return {
    service: NAME,
    version,
    apiPackages: ["reverie.memory.v1", "reverie.info.v1"],
    capabilities: CAPABILITIES,
    durability: store.durability,
    limits: {
      maxTextBytes: BigInt(limits.MAX_TEXT_BYTES),
      maxEntryIdBytes: BigInt(limits.MAX_ENTRY_ID_BYTES),
      maxOwnerIdBytes: BigInt(limits.MAX_OWNER_ID_BYTES),
      maxMetaBytes: BigInt(limits.MAX_META_BYTES),
      maxMetaDepth: limits.MAX_META_DEPTH,
      defaultK: limits.DEFAULT_K,
      maxK: limits.MAX_K,
      defaultPageSize: limits.DEFAULT_PAGE_SIZE,
      maxPageSize: limits.MAX_PAGE_SIZE,
      watchIdleMs: BigInt(limits.WATCH_IDLE_MS),
    },
  };
}
