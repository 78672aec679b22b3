import type { Entry, Kind, RecallSummary } from "@reverie/proto/memory";
import type { Api, OwnerInit } from "./contract.js";

export interface RecallQuery {
  readonly text?: string;
  readonly kinds?: Kind[];
  readonly k?: number;
  readonly sinceMs?: bigint;
  readonly minSeq?: bigint;
}

export interface Recalled {
  readonly entries: readonly Entry[];
  readonly texts: readonly string[];
  readonly batches: readonly (readonly Entry[])[];
  readonly summary: RecallSummary;
}

/** A whole answer of Recall. Fails unless the summary comes once, and last. */
export async function recall(api: Api, owner: OwnerInit, query: RecallQuery = {}): Promise<Recalled> {
  const batches: Entry[][] = [];
  let summary: RecallSummary | undefined;
  for await (const { event } of api.memory.recall({ owner, ...query })) {
    if (summary !== undefined) throw new Error("something follows the summary");
    if (event.case === "summary") summary = event.value;
    else if (event.case === "batch") batches.push(event.value.entries);
    else throw new Error("an event holds neither batch nor summary");
  }
  if (summary === undefined) throw new Error("there is no summary");
  const entries = batches.flat();
  return { entries, batches, summary, texts: entries.map((entry) => entry.text) };
}
