import { KINDS, type ListPage, type ListQuery, type StoredEntry } from "../store.js";
import type { Log } from "./log.js";
import { OrderedEntries } from "./ordered-entries.js";
import type { Owner } from "./owner.js";
import { readEntry } from "./stored-entry.js";

/** One page of an owner's entries, by (ts, ord, kind). */
export function listPage(owner: Owner, query: ListQuery): ListPage {
  const sign = query.order === "newest" ? -1 : 1;
  const cursors = owner.logs
    .filter((log) => query.kinds.includes(log.kind))
    .map((log) => ({ log, entries: new OrderedEntries(log.state.index, query.order, startOf(log, query, sign)) }));
  const page: StoredEntry[] = [];
  let bytes = 0;
  for (;;) {
    let best: (typeof cursors)[number] | undefined;
    for (const cursor of cursors) {
      const i = cursor.entries.peek();
      if (i >= 0 && (best === undefined || compare(cursor.log, i, best.log, best.entries.peek()) * sign < 0))
        best = cursor;
    }
    if (best === undefined) return { entries: page, seq: owner.reportedSeq };
    const { log } = best;
    const i = best.entries.peek();
    if (page.length >= query.limit) return { entries: page, next: position(page), seq: owner.reportedSeq };
    const entry = readEntry(log, i);
    // Damaged since it was indexed: no longer live, so the cursor passes over it by itself.
    if (entry === undefined) continue;
    bytes += log.state.index.length(i);
    if (page.length > 0 && bytes > query.maxBytes)
      return { entries: page, next: position(page), seq: owner.reportedSeq };
    page.push(entry);
    best.entries.advance();
  }
}

function startOf(
  log: Log,
  query: ListQuery,
  sign: number,
): { ts: number; ord: number; inclusive: boolean } | undefined {
  if (query.after === undefined) return undefined;
  const { ts, ord, kind } = query.after;
  return { ts, ord, inclusive: (KINDS.indexOf(log.kind) - KINDS.indexOf(kind)) * sign > 0 };
}

function compare(a: Log, i: number, b: Log, j: number): number {
  return (
    a.state.index.ts(i) - b.state.index.ts(j) ||
    a.state.index.ord(i) - b.state.index.ord(j) ||
    KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)
  );
}

function position(page: readonly StoredEntry[]): { ts: number; ord: number; kind: StoredEntry["kind"] } {
  const { ts, ord, kind } = page[page.length - 1];
  return { ts, ord, kind };
}
