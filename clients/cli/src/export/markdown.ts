import type { Buffer } from "node:buffer";
import type { MemoryKind } from "@reverie/client";
import { manyLines, oneLine } from "../output/printable.js";
import { KINDS } from "../values.js";
import { rawMember } from "./raw-member.js";

interface Found {
  readonly kind: MemoryKind;
  readonly ts: number;
  readonly line: Buffer;
}

/** An exported line, as far as it is shown. */
interface Exported {
  readonly id?: unknown;
  readonly kind?: unknown;
  readonly text: string;
  readonly ts?: unknown;
}

/** Memories as a page for people: a heading a kind, one a day (UTC), one a memory, oldest first. */
export class MarkdownPage {
  readonly #found: Found[] = [];

  /** A line of an export. Lines that hold no memory are passed over. */
  add(line: Buffer): void {
    const entry = parse(line);
    if (entry === undefined) return;
    const kind = KINDS.find((name) => name === entry.kind) ?? "episodic";
    this.#found.push({ kind, ts: typeof entry.ts === "number" ? entry.ts : 0, line });
  }

  /** In pieces. */
  *render(owner: string, exportedAt: number): Generator<string> {
    const entries = `${this.#found.length} ${this.#found.length === 1 ? "memory" : "memories"}`;
    yield `# Memories of ${codeSpan(owner)}\n\n${entries}, exported ${new Date(exportedAt).toISOString()}. Times are UTC.\n`;
    // Stable: of the same time, what was stored first comes first.
    this.#found.sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || a.ts - b.ts);
    let kind: MemoryKind | undefined;
    let day: string | undefined;
    for (const found of this.#found) {
      const entry = parse(found.line);
      if (entry === undefined) continue;
      if (found.kind !== kind) {
        kind = found.kind;
        day = undefined;
        yield `\n## ${kind.charAt(0).toUpperCase()}${kind.slice(1)}\n`;
      }
      const [date, time] = dayAndTime(found.ts);
      if (date !== day) {
        day = date;
        yield `\n### ${day}\n`;
      }
      const id = typeof entry.id === "string" && entry.id !== "" ? codeSpan(entry.id) : "(no id)";
      yield `\n#### ${time} ${id}\n\n${fenced(entry.text)}`;
      const meta = metaOf(found.line);
      if (meta !== undefined) yield `\nMeta: ${codeSpan(meta)}\n`;
    }
  }
}

function parse(line: Buffer): Exported | undefined {
  try {
    const value = JSON.parse(line.toString("utf8")) as Partial<Exported> | null;
    return typeof value?.text === "string" ? (value as Exported) : undefined;
  } catch {
    return undefined;
  }
}

/** As it is stored; an empty one is none. */
function metaOf(line: Buffer): string | undefined {
  const json = rawMember(line.toString("utf8"), "meta") ?? "null";
  return json === "null" || /^\{\s*\}$/.test(json) ? undefined : json;
}

function dayAndTime(ts: number): [day: string, time: string] {
  const date = new Date(ts);
  if (Number.isNaN(date.getTime())) return ["Unknown day", String(ts)];
  const [day = "", time = ""] = date.toISOString().split("T");
  return [day, time.replace(/(\.000)?Z$/, "")];
}

/** A block that nothing in the text can end: its fence is longer than any run of backticks there. */
function fenced(text: string): string {
  const shown = manyLines(text);
  const fence = "`".repeat(Math.max(3, longestRun(shown) + 1));
  return `${fence}text\n${shown}\n${fence}\n`;
}

function codeSpan(text: string): string {
  const shown = oneLine(text);
  const ticks = "`".repeat(longestRun(shown) + 1);
  const pad = shown.startsWith("`") || shown.endsWith("`") || /^ .* $/.test(shown) ? " " : "";
  return `${ticks}${pad}${shown}${pad}${ticks}`;
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}
