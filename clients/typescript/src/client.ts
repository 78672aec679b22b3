import type { Client, Interceptor } from "@connectrpc/connect";
import { InfoService } from "@reverie/proto/info";
import { MemoryService, OwnerService, TrashService } from "@reverie/proto/memory";
import type { TlsOptions } from "./address.js";
import { parseAddress } from "./address.js";
import type { CallSettings, Deps } from "./deps.js";
import { callOptions } from "./deps.js";
import type { MemoryEntry, NewMemory } from "./entry.js";
import { toMemoryEntry, toNewEntry } from "./entry.js";
import { invalidArgument, ReverieError } from "./errors.js";
import type { MemoryHandle } from "./handle.js";
import { createHandle } from "./handle.js";
import type { HubMemoryConfig } from "./hub-config.js";
import { parseHubConfig } from "./hub-config.js";
import type { HubTrash } from "./hub-trash.js";
import { createHubTrash } from "./hub-trash.js";
import type { MemoryKind } from "./kinds.js";
import { DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS, MIN_KEEPALIVE_MS } from "./limits.js";
import type { ListOptions } from "./list.js";
import { listEntries } from "./list.js";
import type { Owner } from "./owner.js";
import { toProtoOwner } from "./owner.js";
import { withPolicy } from "./policy.js";
import type { RecallQuery, RecallResult } from "./recall.js";
import { RecallStream, recallAll } from "./recall.js";
import type { RememberManyResult } from "./remember-many.js";
import { rememberMany } from "./remember-many.js";
import type { RetryOptions } from "./retry.js";
import { createStub } from "./stubs.js";
import type { ImportResult } from "./transfer.js";
import { ExportStream, importOwner } from "./transfer.js";
import { grpcJsTransport } from "./transport/grpc-js.js";
import type { WatchOptions, WatchUpdate } from "./watch.js";
import { watch } from "./watch.js";

export interface MemoryClientOptions {
  /** memory-service's gRPC port: `host:port`, `http://host:port` or `https://host:port`. */
  readonly address: string;
  /** Sent as `authorization: Bearer …`. Refused over plaintext to another machine unless `insecure`. */
  readonly token?: string | undefined;
  /** true: the system's certificate authorities. `https://` implies it. */
  readonly tls?: boolean | TlsOptions | undefined;
  /** Lets the token travel unencrypted to another machine. */
  readonly insecure?: boolean | undefined;
  /** The deadline of calls that answer once, milliseconds, retries included. Default 10,000; 0 means none. */
  readonly timeoutMs?: number | undefined;
  readonly retry?: RetryOptions | undefined;
  /** Ping after this much silence while calls are open, milliseconds. Default 30,000, at least 10,000. */
  readonly keepaliveMs?: number | undefined;
  /** Connect interceptors, run for each attempt. */
  readonly interceptors?: Interceptor[] | undefined;
}

export interface RememberResult {
  /** As stored; after a retry with its present meta. */
  readonly entry: MemoryEntry;
  readonly seq: number;
  /** By an earlier call, or by a first try of this one whose answer was lost. */
  readonly alreadyStored: boolean;
  readonly droppedByCaps: number;
}

/**
 * A connection to one memory-service; it dials with the first call. Share it. Owners are `{ kind, id }` or text such as
 * `agent/x`. Everything throws ReverieError.
 */
export interface MemoryClient {
  /** The raw stubs: Connect clients, with this client's deadline, retries and errors. `metaJson` keeps every digit. */
  readonly memory: Client<typeof MemoryService>;
  readonly owners: Client<typeof OwnerService>;
  readonly trash: Client<typeof TrashService>;
  readonly info: Client<typeof InfoService>;

  /** One owner's memory behind the interface of the in-process seat. */
  handle(owner: Owner | string): MemoryHandle;
  /** The trash behind the interface that hubs know. */
  readonly hubTrash: HubTrash;
  /** Stores an owner's config. Throws ServiceConfigError before anything is sent, CONFIG_EXISTS unless `replace`. */
  attach(
    owner: Owner | string,
    config: HubMemoryConfig,
    settings?: CallSettings & { replace?: boolean | undefined },
  ): Promise<{ changed: boolean }>;

  remember(owner: Owner | string, entry: NewMemory, settings?: CallSettings): Promise<RememberResult>;
  rememberMany(
    owner: Owner | string,
    items: readonly NewMemory[] | Iterable<NewMemory> | AsyncIterable<NewMemory>,
    settings?: CallSettings,
  ): Promise<RememberManyResult>;
  recall(owner: Owner | string, query?: RecallQuery, settings?: CallSettings): Promise<RecallResult>;
  recallStream(owner: Owner | string, query?: RecallQuery, settings?: CallSettings): RecallStream;
  /** undefined when there is no such memory. */
  get(owner: Owner | string, id: string, settings?: CallSettings): Promise<MemoryEntry | undefined>;
  /** Every memory, a page at a time. */
  entries(owner: Owner | string, options?: ListOptions): AsyncGenerator<MemoryEntry, void, undefined>;
  watch(owner: Owner | string, options?: WatchOptions): AsyncGenerator<WatchUpdate, void, undefined>;
  exportOwner(
    owner: Owner | string,
    options?: { kinds?: readonly MemoryKind[] | undefined } & CallSettings,
  ): ExportStream;
  importOwner(
    owner: Owner | string,
    source: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
    settings?: CallSettings,
  ): Promise<ImportResult>;

  /** Cancels open calls and closes the connection. May be called twice. */
  close(): void;
}

/** Throws a ReverieError of code INVALID_ARGUMENT when an option is wrong; connects later. */
export function createMemoryClient(options: MemoryClientOptions): MemoryClient {
  const { token, tls, timeoutMs = DEFAULT_TIMEOUT_MS, retry = {}, keepaliveMs, interceptors } = options;
  const endpoint = parseAddress(options.address, tls !== undefined && tls !== false);
  if (!(timeoutMs >= 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    throw invalidArgument("OPTION_INVALID", `timeoutMs must be 0 (none) to ${MAX_TIMEOUT_MS}, not ${timeoutMs}.`);
  }
  if (keepaliveMs !== undefined && !(keepaliveMs >= MIN_KEEPALIVE_MS)) {
    const why = `keepaliveMs must be ${MIN_KEEPALIVE_MS} or more, not ${keepaliveMs}: servers disconnect who pings more often.`;
    throw invalidArgument("OPTION_INVALID", why);
  }
  if (token !== undefined) checkToken(token, endpoint.secure || endpoint.loopback || options.insecure === true);
  const transport = grpcJsTransport({
    endpoint,
    ...(typeof tls === "object" && { tls }),
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    ...(keepaliveMs !== undefined && { keepaliveMs }),
    ...(interceptors && { interceptors }),
  });
  const policed = withPolicy(transport, { target: endpoint.target, timeoutMs, retry });
  const deps: Deps = {
    memory: createStub(MemoryService, policed),
    owners: createStub(OwnerService, policed),
    trash: createStub(TrashService, policed),
    info: createStub(InfoService, policed),
    target: endpoint.target,
    timeoutMs,
    retry,
  };
  const { memory, owners, trash, info } = deps;
  return {
    memory,
    owners,
    trash,
    info,
    handle: (owner) => createHandle(deps, owner),
    hubTrash: createHubTrash(deps),
    async attach(owner, config, { replace = false, ...settings } = {}) {
      const request = { config: parseHubConfig(config), owner: toProtoOwner(owner), replace };
      const { changed } = await owners.attach(request, callOptions(settings));
      return { changed };
    },
    async remember(owner, entry, settings) {
      const request = { owner: toProtoOwner(owner), entry: toNewEntry(entry) };
      const reply = await memory.remember(request, callOptions(settings));
      return {
        entry: toMemoryEntry(reply.entry),
        seq: Number(reply.seq),
        alreadyStored: reply.alreadyStored,
        droppedByCaps: Number(reply.droppedByCaps),
      };
    },
    rememberMany: (owner, items, settings) => rememberMany(deps, owner, items, settings),
    recall: (owner, query = {}, settings) => recallAll(deps, owner, query, settings),
    recallStream: (owner, query = {}, settings) => new RecallStream(deps, owner, query, settings),
    async get(owner, id, settings) {
      try {
        return toMemoryEntry((await memory.getEntry({ owner: toProtoOwner(owner), id }, callOptions(settings))).entry);
      } catch (error) {
        if (error instanceof ReverieError && error.reason === "ENTRY_NOT_FOUND") return undefined;
        throw error;
      }
    },
    entries: (owner, listOptions) => listEntries(deps, owner, listOptions),
    watch: (owner, watchOptions) => watch(deps, owner, watchOptions),
    exportOwner: (owner, exportOptions) => new ExportStream(deps, owner, exportOptions),
    importOwner: (owner, source, settings) => importOwner(deps, owner, source, settings),
    close: () => transport.close(),
  };
}

function checkToken(token: string, safe: boolean): void {
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
    const why = "The token must be visible ASCII characters without spaces: check for a line break at its end.";
    throw invalidArgument("OPTION_INVALID", why);
  }
  if (safe) return;
  throw invalidArgument(
    "TOKEN_INSECURE",
    "The token would travel unencrypted to another machine. Use https:// or tls, or set insecure: true if the network " +
      "is trusted.",
  );
}
