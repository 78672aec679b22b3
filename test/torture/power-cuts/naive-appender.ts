import { closeSync, fdatasyncSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";

// A control: a JSONL store that syncs what it appends, and never looks at how its file ends.

export function appendNaively(path: string, id: string): void {
  const fd = openSync(path, "a");
  writeSync(fd, `${JSON.stringify({ id, text: `text of ${id}` })}\n`);
  fdatasyncSync(fd);
  closeSync(fd);
  const directory = openSync(dirname(path), "r");
  fsyncSync(directory);
  closeSync(directory);
}

/** The ids of the lines that can be read. */
export function readNaively(path: string): string[] {
  return readFileSync(path, "utf8").split("\n").flatMap(idOf);
}

function idOf(line: string): string[] {
  try {
    return [JSON.parse(line).id];
  } catch {
    return [];
  }
}
