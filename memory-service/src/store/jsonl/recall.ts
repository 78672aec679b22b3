import { KINDS, type RecallQuery, type RecallSummary, type StoredEntry } from "../store.js";
import { compareKeys } from "./ordered-entries.js";
import type { Owner } from "./owner.js";
import { LogSearch, type Match, Query } from "./search.js";
import { readEntry } from "./stored-entry.js";
import { TimeSlice } from "./time-slice.js";

/** How long a search may keep the event loop, milliseconds. */
const SLICE_MS = 10;
/** What a batch holds before it is sent. */
const BATCH_BYTES = 64 * 1024;

/** Matches of all kinds, newest first, sent as they are found. */
export async function* recall(
  owner: Owner,
  query: RecallQuery,
  signal: AbortSignal,
): AsyncGenerator<StoredEntry[], RecallSummary> {
  const logs = owner.logs.filter((log) => query.kinds.includes(log.kind));
  const text = new Query(query.text);
  const since = query.since ?? -Infinity;
  const seq = owner.reportedSeq;
  const searches = logs.map((log) => new LogSearch(log, text, since));
  let returned = 0;
  let batch: StoredEntry[] = [];
  let batchBytes = 0;
  const slice = new TimeSlice(SLICE_MS);
  let next = newest(searches);
  while (next !== undefined && returned < query.k) {
    const match = next.step();
    const entry = match === undefined ? undefined : read(match);
    if (entry !== undefined) {
      batch.push(entry);
      batchBytes += entry.text.length + entry.meta.length;
      returned++;
    }
    const isLate = slice.isOver;
    const isFull = batchBytes >= BATCH_BYTES;
    if (isLate || isFull) {
      if (batch.length > 0) yield batch;
      batch = [];
      batchBytes = 0;
      if (isLate) await slice.giveWay();
      else slice.restart();
      signal.throwIfAborted();
      for (const search of searches) search.resume();
    }
    next = newest(searches);
  }
  const truncated = next !== undefined;
  const known = searches.reduce((sum, search) => sum + search.known, 0);
  if (batch.length > 0) yield batch;
  return {
    scanned: searches.reduce((sum, search) => sum + search.scanned, 0),
    matched: returned + known,
    returned,
    truncated,
    corruptLinesSkipped: logs.reduce((sum, log) => sum + log.state.corruptLines, 0),
    seq,
  };
}

function newest(searches: readonly LogSearch[]): LogSearch | undefined {
  let best: LogSearch | undefined;
  for (const search of searches) {
    const { bound } = search;
    if (bound === undefined) continue;
    const other = best?.bound;
    const difference =
      other === undefined
        ? 1
        : compareKeys(bound, other) || KINDS.indexOf(search.log.kind) - KINDS.indexOf(best?.log.kind ?? "working");
    if (difference > 0) best = search;
  }
  return best;
}

/** undefined when it was forgotten since, or turns out to be damaged. */
function read({ log, i, entry }: Match): StoredEntry | undefined {
  if (!log.state.index.isLive(i)) return undefined;
  if (entry !== undefined) return entry;
  return readEntry(log, i);
}
