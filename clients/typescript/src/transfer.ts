import { Buffer } from "node:buffer";
import type { CallSettings, Deps } from "./deps.js";
import { callOptions, streamIncomplete } from "./deps.js";
import type { MemoryKind } from "./kinds.js";
import { toProtoKind } from "./kinds.js";
import { IMPORT_CHUNK_BYTES } from "./limits.js";
import type { Owner } from "./owner.js";
import { toProtoOwner } from "./owner.js";
import type { RefusedItem } from "./remember-many.js";
import { toRefused } from "./remember-many.js";

export interface ExportSummary {
  readonly entries: number;
  readonly bytes: number;
  readonly seq: number;
  readonly corruptLinesSkipped: number;
}

/**
 * JSONL bytes, to be written one after the other; can be read once. After the last chunk `summary` is set. Leaving the
 * loop early ends the call. Throws STREAM_INCOMPLETE when the server's stream lacks its summary: throw the bytes away.
 */
export class ExportStream implements AsyncIterable<Uint8Array> {
  /** undefined until every chunk was read. */
  summary: ExportSummary | undefined;
  readonly #chunks: AsyncGenerator<Uint8Array, void, undefined>;

  constructor(
    deps: Deps,
    owner: Owner | string,
    { kinds = [], ...settings }: { kinds?: readonly MemoryKind[] | undefined } & CallSettings = {},
  ) {
    this.#chunks = this.#read(deps, { owner: toProtoOwner(owner), kinds: kinds.map(toProtoKind) }, settings);
  }

  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#chunks;
  }

  async *#read(
    deps: Deps,
    request: Parameters<Deps["memory"]["exportOwner"]>[0],
    settings: CallSettings,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    let summary: ExportSummary | undefined;
    for await (const { event } of deps.memory.exportOwner(request, callOptions(settings))) {
      if (event.case === "lines") yield event.value;
      else if (event.case === "summary") {
        const { entries, bytes, seq, corruptLinesSkipped } = event.value;
        summary = {
          entries: Number(entries),
          bytes: Number(bytes),
          seq: Number(seq),
          corruptLinesSkipped: Number(corruptLinesSkipped),
        };
      }
    }
    if (summary === undefined) throw streamIncomplete("ExportOwner", deps.target);
    this.summary = summary;
  }
}

export interface ImportResult {
  readonly stored: number;
  readonly alreadyStored: number;
  readonly refused: number;
  /** The first 1,000. */
  readonly refusedItems: readonly RefusedItem[];
  readonly skippedLines: number;
  readonly droppedByCaps: number;
  /** The service stopped reading after 1,000 refusals. */
  readonly stopped: boolean;
  /** 0 when nothing was stored. */
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/**
 * Stores entries from JSONL: bytes or text, cut anywhere, such as a file's read stream. Read once, as fast as the server
 * takes it; not sent again by itself, but safe to run again: entries that are there already are counted, not doubled.
 * No deadline unless asked for.
 */
export async function importOwner(
  deps: Deps,
  owner: Owner | string,
  source: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
  settings: CallSettings = {},
): Promise<ImportResult> {
  const reply = await deps.memory.importOwner(messages(toProtoOwner(owner), source), callOptions(settings));
  return {
    stored: Number(reply.stored),
    alreadyStored: Number(reply.alreadyStored),
    refused: Number(reply.refused),
    refusedItems: reply.refusedItems.map(toRefused),
    skippedLines: Number(reply.skippedLines),
    droppedByCaps: Number(reply.droppedByCaps),
    stopped: reply.stopped,
    firstSeq: Number(reply.firstSeq),
    lastSeq: Number(reply.lastSeq),
  };
}

async function* messages(
  owner: ReturnType<typeof toProtoOwner>,
  source: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
) {
  yield { owner };
  for await (const chunk of source) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    for (let at = 0; at < bytes.byteLength; at += IMPORT_CHUNK_BYTES) {
      yield { lines: bytes.subarray(at, at + IMPORT_CHUNK_BYTES) };
    }
  }
}
