import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { InfoService } from "@reverie/proto/info";
import {
  type Entry,
  Kind,
  MemoryService,
  type NewEntrySchema,
  OwnerKind,
  OwnerService,
  TrashService,
} from "@reverie/proto/memory";
import { afterAll, beforeAll, describe } from "vitest";
import { type ContractServer, type ContractServerOptions, startContractServer } from "./contract-server.js";
import { type ContractTransport, type OpenTransport, transports } from "./transports.js";

export interface OwnerInit {
  readonly kind: OwnerKind;
  readonly id: string;
}

/** The services as seen through one transport. Calls work in tests and hooks only. */
export class Api {
  server!: ContractServer;
  channel!: OpenTransport;
  memory!: Client<typeof MemoryService>;
  owners!: Client<typeof OwnerService>;
  trash!: Client<typeof TrashService>;
  info!: Client<typeof InfoService>;
  private made = 0;

  constructor(readonly transport: ContractTransport) {}

  connect(server: ContractServer, headers?: Readonly<Record<string, string>>): void {
    this.close();
    this.server = server;
    this.channel = this.transport.open(server, headers);
    this.memory = createClient(MemoryService, this.channel);
    this.owners = createClient(OwnerService, this.channel);
    this.trash = createClient(TrashService, this.channel);
    this.info = createClient(InfoService, this.channel);
  }

  close(): void {
    this.channel?.close();
  }

  /** An owner that nobody has used. */
  owner(name = "owner", kind = OwnerKind.AGENT): OwnerInit {
    return { kind, id: `${this.transport.name}-${name}-${++this.made}` };
  }

  /** Stores an entry; an episodic one that says "hello" unless told otherwise. */
  async remember(owner: OwnerInit, entry: MessageInitShape<typeof NewEntrySchema> = {}): Promise<Entry> {
    const answer = await this.memory.remember({ owner, entry: newEntry(entry) });
    return answer.entry as Entry;
  }

  /** Stores many in one stream; none may be refused. Returns the owner's seq. */
  async rememberAll(owner: OwnerInit, entries: readonly MessageInitShape<typeof NewEntrySchema>[]): Promise<bigint> {
    const answer = await this.memory.rememberMany(stream({ owner, entries: entries.map(newEntry) }));
    if (answer.refused.length > 0) throw new Error(`refused: ${answer.refused[0]?.message}`);
    return answer.lastSeq;
  }
}

export function newEntry(entry: MessageInitShape<typeof NewEntrySchema>): MessageInitShape<typeof NewEntrySchema> {
  return { kind: Kind.EPISODIC, text: "hello", ...entry };
}

/** Declares the same cases for every transport, against one server of their own. */
export function contract(title: string, cases: (api: Api) => void, options?: ContractServerOptions): void {
  describe(title, () => {
    const apis = transports.map((transport) => new Api(transport));
    let server: ContractServer;
    beforeAll(async () => {
      server = await startContractServer(options);
      for (const api of apis) api.connect(server);
    });
    afterAll(async () => {
      for (const api of apis) api.close();
      await server?.stop();
    });
    for (const api of apis) describe(`over ${api.transport.name}`, () => cases(api));
  });
}

/** Requests of a client stream. */
export async function* stream<T>(...messages: readonly T[]): AsyncGenerator<T> {
  yield* messages;
}

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}
