import type { MemoryKind } from "@reverie/client";
import { type Entry, Kind } from "@reverie/proto/memory";
import type { Output } from "./output.js";
import { manyLines, oneLine } from "./printable.js";
import type { Cell, Column } from "./table.js";
import { when } from "./units.js";

export const MEMORY_COLUMNS: readonly Column[] = [
  { title: "id", max: 28 },
  { title: "kind", max: 8, spare: 1, style: "cyan" },
  { title: "when", max: 24, spare: 2, style: "dim" },
  { title: "text", max: Number.POSITIVE_INFINITY },
];

export function kindName(kind: Kind): MemoryKind {
  return (Kind[kind] ?? String(kind)).toLowerCase() as MemoryKind;
}

export function toKind(name: MemoryKind): Kind {
  return Kind[name.toUpperCase() as keyof typeof Kind];
}

/** A memory as JSON; meta as it is stored, every digit of it. `more` goes behind. */
export function memoryJson(entry: Entry, more: object = {}): string {
  const { id, text, tsMs, metaJson, seq, textTruncated, metaOmitted } = entry;
  const head = JSON.stringify({ id, kind: kindName(entry.kind), text, ts: Number(tsMs) }).slice(0, -1);
  const tail = JSON.stringify({
    seq: Number(seq),
    ...(textTruncated && { textTruncated }),
    ...(metaOmitted && { metaOmitted }),
    ...more,
  });
  return `${head}${metaJson === "" ? "" : `,"meta":${metaJson}`},${tail.slice(1)}`;
}

export function memoryRow({ id, kind, tsMs, text, metaJson }: Entry, { iso }: Output): readonly Cell[] {
  return [
    id === "" ? "(no id)" : id,
    kindName(kind),
    when(tsMs, { iso }),
    { text, ...(metaJson !== "" && { note: metaJson }) },
  ];
}

/** All of one memory, for people. */
export function memoryDetails(entry: Entry, { style }: Output): string {
  const at = when(entry.tsMs);
  const iso = when(entry.tsMs, { iso: true });
  const facts: [string, string][] = [
    ["id", entry.id === "" ? "(no id)" : oneLine(entry.id)],
    ["kind", kindName(entry.kind)],
    ["when", iso.startsWith(at) ? iso : `${iso} (${at})`],
    ["seq", String(entry.seq)],
  ];
  if (entry.metaJson !== "") facts.push(["meta", oneLine(entry.metaJson)]);
  if (entry.metaOmitted) facts.push(["meta", "left out: over 64 KiB; `export` has it"]);
  if (entry.textTruncated) facts.push(["text", "cut: over 1 MiB; `export` has it whole"]);
  return `${detailLines(facts, style)}\n\n${manyLines(entry.text)}`;
}

/** `name  value` lines, the names in one column. */
export function detailLines(facts: readonly (readonly [string, string])[], style: Output["style"]): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${style.dim(name.padEnd(width))}  ${value}`).join("\n");
}
