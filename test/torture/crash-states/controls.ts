import type { RecordOptions } from "./record.js";
import type { Action } from "./trace.js";

/** Stores that break a rule of the write path: states of their traces must be found broken. */
export const controls: readonly ({ readonly name: string } & Omit<RecordOptions, "base">)[] = [
  { name: "without syncs", durability: "none" },
  { name: "without a directory's sync after a rename", skip: (_, pending) => pending.some(isRename) },
  { name: "with an erase before its replacement's sync", skip: (_, pending) => isReplacement(pending.at(-1)) },
];

function isRename(action: Action): boolean {
  return action.type === "names" && action.edits.length === 2;
}

/** The last thing written is a line that stands for another one. */
function isReplacement(action: Action | undefined): boolean {
  return action?.type === "write" && /"was":\{"at":\d+,"len":\d+\}[^\n]*\n$/.test(action.bytes.toString("latin1"));
}
