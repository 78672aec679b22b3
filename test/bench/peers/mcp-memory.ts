import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Sample } from "../sample.js";
import { requirePeer, resolvePeer } from "./install-peers.js";

/** The SDK's default is 60 s. */
const CALL_TIMEOUT_MS = 600_000;
/** Of one reply. The SDK's default is 10 MiB, and a search returns every match twice. */
const MAX_REPLY_BYTES = 2 ** 30;

interface Result {
  readonly isError?: boolean;
  readonly content?: unknown;
  readonly structuredContent?: { readonly entities: readonly Entity[] };
}

interface Client {
  connect(transport: Transport): Promise<void>;
  callTool(call: object, schema: undefined, options: { readonly timeout: number }): Promise<Result>;
  close(): Promise<void>;
}

interface Transport {
  readonly pid: number | null;
}

interface ServerParameters {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stderr: "ignore";
  readonly maxBufferSize: number;
}

interface Entity {
  readonly name: string;
  readonly entityType: string;
  readonly observations: readonly string[];
}

/** What a search returns of an entry: the server has no place for a time, and none for a meta. */
export type McpFound = Pick<Sample, "id" | "text">;

/** The reference memory server of MCP, a process over stdio. It reads its whole file for each call. */
export class McpMemory {
  private constructor(
    private readonly client: Client,
    private readonly transport: Transport,
    /** The server's file. */
    readonly path: string,
  ) {}

  /** Starts it over `memory.jsonl` in the directory. */
  static async start(dir: string): Promise<McpMemory> {
    const { Client } = requirePeer<{ Client: new (info: object) => Client }>(
      "@modelcontextprotocol/sdk/client/index.js",
    );
    const { StdioClientTransport } = requirePeer<{
      StdioClientTransport: new (server: ServerParameters) => Transport;
    }>("@modelcontextprotocol/sdk/client/stdio.js");
    const path = join(dir, "memory.jsonl");
    const client = new Client({ name: "reverie-bench", version: "0.0.0" });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [resolvePeer("@modelcontextprotocol/server-memory/dist/index.js")],
      env: { MEMORY_FILE_PATH: path },
      stderr: "ignore",
      maxBufferSize: MAX_REPLY_BYTES,
    });
    await client.connect(transport);
    return new McpMemory(client, transport, path);
  }

  /** Of the server, to read its memory use. */
  get pid(): number | undefined {
    return this.transport.pid ?? undefined;
  }

  /**
   * One call for all, at most 10 MiB as JSON. Await each before the next: the server lets concurrent calls
   * overwrite each other's entries. It doesn't sync the file.
   */
  async add(samples: readonly Sample[]): Promise<void> {
    const entities = await this.call("create_entities", { entities: samples.map(toEntity) });
    if (entities.length !== samples.length)
      throw new Error(`${samples.length - entities.length} ids were there before`);
  }

  /**
   * Replaces the file by one as the server writes it. A call would compare each new name with every known one, and so
   * take hours for a million. The server keeps nothing between calls, and finds the new file.
   */
  async fill(samples: Iterable<Sample>): Promise<void> {
    await pipeline(Readable.from(fileOf(samples)), createWriteStream(this.path));
  }

  /** Every entry that holds the query, oldest first. */
  async search(query: string): Promise<McpFound[]> {
    const entities = await this.call("search_nodes", { query });
    return entities.map(({ name, observations }) => ({ id: name, text: observations[0] ?? "" }));
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  private async call(name: string, args: object): Promise<readonly Entity[]> {
    const result = await this.client.callTool({ name, arguments: args }, undefined, { timeout: CALL_TIMEOUT_MS });
    if (result.isError || result.structuredContent === undefined)
      throw new Error(`${name} failed: ${JSON.stringify(result.content)}`);
    return result.structuredContent.entities;
  }
}

/** A search looks into the type too: it is empty, so that no needle is in it. */
function toEntity({ id, text }: Sample): Entity {
  return { name: id, entityType: "", observations: [text] };
}

function* fileOf(samples: Iterable<Sample>): Generator<string> {
  let lines: string[] = [];
  let separator = "";
  for (const sample of samples) {
    lines.push(separator + JSON.stringify({ type: "entity", ...toEntity(sample) }));
    separator = "\n";
    if (lines.length === 1000) {
      yield lines.join("");
      lines = [];
    }
  }
  yield lines.join("");
}
