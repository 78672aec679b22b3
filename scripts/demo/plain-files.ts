import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { linesOf } from "./transcript.js";

/** One memory as a program sees it that knows nothing of Reverie. */
export interface PlainEntry {
  readonly id: string;
  readonly text: string;
  /** The whole line. */
  readonly line: string;
}

/** Every line of a JSONL file that holds an object with an id and a text. */
export function readPlainJsonl(path: string): PlainEntry[] {
  const entries: PlainEntry[] = [];
  for (const { bytes } of linesOf(readFileSync(path))) {
    const line = bytes.toString();
    const { id, text } = JSON.parse(line) as { id?: unknown; text?: unknown };
    if (typeof id === "string" && typeof text === "string") entries.push({ id, text, line });
  }
  return entries;
}

/** Files below `dir` that hold these bytes anywhere. */
export function filesHolding(dir: string, text: string): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));
}
