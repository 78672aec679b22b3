import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RecallSummary as ProtoSummary, RecallRequestSchema } from "@reverie/proto/memory";
import type { CallSettings, Deps } from "./deps.js";
import { callOptions, readWhole, streamIncomplete } from "./deps.js";
import type { MemoryEntry } from "./entry.js";
import { toMemoryEntry, toMs, toSeq, toWholeCount } from "./entry.js";
import type { MemoryKind } from "./kinds.js";
import { toProtoKind } from "./kinds.js";
import { MAX_K } from "./limits.js";
import type { Owner } from "./owner.js";
import { toProtoOwner } from "./owner.js";

export interface RecallQuery {
  /** A substring, compared without regard to case or Unicode form; at most 4 KiB of UTF-8. Default: everything. */
  readonly text?: string | undefined;
  /** Only these; default and empty: all that the owner's config allows. */
  readonly kinds?: readonly MemoryKind[] | undefined;
  /** The most entries. Default 20, at most 200. */
  readonly k?: number | undefined;
  /** Only entries of this time or later, milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
  /** Answer from a state that holds this seq. */
  readonly minSeq?: number | undefined;
}

/** How an answer came about; see the contract's RecallSummary. */
export interface RecallSummary {
  readonly scanned: number;
  readonly matched: number;
  readonly returned: number;
  readonly truncated: boolean;
  readonly corruptLinesSkipped: number;
  readonly seq: number;
}

export interface RecallResult {
  /** Newest first. */
  readonly entries: MemoryEntry[];
  readonly summary: RecallSummary;
}

export function toRecallRequest(
  owner: Owner | string,
  query: RecallQuery,
): MessageInitShape<typeof RecallRequestSchema> {
  return {
    owner: toProtoOwner(owner),
    text: query.text ?? "",
    kinds: (query.kinds ?? []).map(toProtoKind),
    k: toWholeCount(query.k ?? 0, MAX_K, "k"),
    sinceMs: toMs(query.since ?? 0, "since"),
    minSeq: toSeq(query.minSeq ?? 0, "minSeq"),
  };
}

function toSummary({ scanned, matched, returned, truncated, corruptLinesSkipped, seq }: ProtoSummary): RecallSummary {
  return {
    scanned: Number(scanned),
    matched: Number(matched),
    returned: Number(returned),
    truncated,
    corruptLinesSkipped: Number(corruptLinesSkipped),
    seq: Number(seq),
  };
}

/**
 * Entries as they are found, newest first; can be read once. After the last one `summary` is set. Leaving the loop early
 * ends the call. Throws STREAM_INCOMPLETE when the server's stream lacks its summary.
 */
export class RecallStream implements AsyncIterable<MemoryEntry> {
  /** undefined until every entry was read. */
  summary: RecallSummary | undefined;
  readonly #entries: AsyncGenerator<MemoryEntry, void, undefined>;

  constructor(deps: Deps, owner: Owner | string, query: RecallQuery, settings?: CallSettings) {
    const request = toRecallRequest(owner, query);
    this.#entries = this.#read(deps, request, settings);
  }

  [Symbol.asyncIterator](): AsyncGenerator<MemoryEntry, void, undefined> {
    return this.#entries;
  }

  async *#read(
    deps: Deps,
    request: MessageInitShape<typeof RecallRequestSchema>,
    settings?: CallSettings,
  ): AsyncGenerator<MemoryEntry, void, undefined> {
    let summary: RecallSummary | undefined;
    for await (const { event } of deps.memory.recall(request, callOptions(settings))) {
      if (event.case === "batch") yield* event.value.entries.map(toMemoryEntry);
      else if (event.case === "summary") summary = toSummary(event.value);
    }
    if (summary === undefined) throw streamIncomplete("Recall", deps.target);
    this.summary = summary;
  }
}

/** The whole answer at once, under the deadline of unary calls. */
export async function recallAll(
  deps: Deps,
  owner: Owner | string,
  query: RecallQuery,
  { signal, timeoutMs = deps.timeoutMs }: CallSettings = {},
): Promise<RecallResult> {
  const request = toRecallRequest(owner, query);
  const { entries, summary } = await readWhole(
    timeoutMs,
    (left) => deps.memory.recall(request, callOptions({ signal, timeoutMs: left })),
    () => ({ entries: [] as MemoryEntry[], summary: undefined as RecallSummary | undefined }),
    (collected, { event }) => {
      if (event.case === "batch") for (const entry of event.value.entries) collected.entries.push(toMemoryEntry(entry));
      else if (event.case === "summary") collected.summary = toSummary(event.value);
    },
    (collected) => {
      if (collected.summary === undefined) throw streamIncomplete("Recall", deps.target);
    },
  );
  return { entries, summary: summary as RecallSummary };
}
