import type { KillReport } from "./run-kills.js";

/** What a run found wrong, for people. */
export function findingsOf(what: string, { lost, resurrected, problems, kept }: KillReport): string[] {
  return [
    ...(kept === undefined ? [] : [`${what}: what the first one left, and what must be in it: ${kept}`]),
    ...lost.map((entry) => `${what} lost ${entry}`),
    ...resurrected.map((entry) => `${what} brought back ${entry}`),
    ...problems.map((problem) => `${what}: ${problem}`),
  ];
}
