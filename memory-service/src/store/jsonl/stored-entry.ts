import type { StoredEntry } from "../store.js";
import { type EntryLine, metaOf } from "./line.js";
import type { Log } from "./log.js";

/** Entry `i` as the store serves it; undefined when it turns out to be damaged. */
export function readEntry(log: Log, i: number): StoredEntry | undefined {
  const found = log.entry(i);
  return found === undefined ? undefined : stored(log, i, found.line, metaOf(found.bytes, found.line));
}

/** The same of a line that was read already. */
export function stored(log: Log, i: number, { id, text, ts, seq }: EntryLine, meta: string): StoredEntry {
  return { id, kind: log.kind, text, ts, meta, seq, ord: log.state.index.ord(i) };
}
