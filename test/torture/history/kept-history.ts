import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WatchEvent } from "./check-watch.js";
import type { Operation } from "./operation.js";

/** All that clients of one owner did and were told: what `checkHistory` judges. */
export interface OwnerHistory {
  readonly owner: string;
  readonly operations: readonly Operation[];
  readonly watched: readonly WatchEvent[];
}

/** Writes it to `<dir>/<owner>.json`, so that a verdict can be looked into. Returns the file. */
export function keepHistory(dir: string, history: OwnerHistory): string {
  mkdirSync(dir, { recursive: true });
  const file = join(dir, `${history.owner.replaceAll("/", "-")}.json`);
  writeFileSync(file, JSON.stringify(history));
  return file;
}

export function readHistory(file: string): OwnerHistory {
  const history = JSON.parse(readFileSync(file, "utf8")) as OwnerHistory;
  // JSON has no infinity: an outcome that stayed open.
  const operations = history.operations.map((op) => ({ ...op, end: op.end ?? Number.POSITIVE_INFINITY }) as Operation);
  return { ...history, operations };
}
