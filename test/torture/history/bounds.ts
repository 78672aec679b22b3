import { answerOf, type Operation, refusalOf, seqOf } from "./operation.js";

/** Where in the owner's order an operation can stand, by the clock: behind `lower`, up to `upper`. */
export interface Bounds {
  readonly lower: number;
  /** Of what has an answer with a seq: that seq. */
  readonly upper: number;
}

const CHANGES: ReadonlySet<string> = new Set([
  "remember",
  "rememberMany",
  "patch",
  "forget",
  "clear",
  "softDelete",
  "restore",
]);

export const isChange = (op: Operation): boolean => CHANGES.has(op.call);

/** It surely changed something, at most at this seq. */
function changedAt(op: Operation): number | undefined {
  switch (op.call) {
    case "remember": {
      const answer = answerOf<"remember">(op);
      return answer === undefined || answer.already ? undefined : answer.entry.seq;
    }
    case "rememberMany": {
      const answer = answerOf<"rememberMany">(op);
      return answer === undefined || answer.stored === 0 ? undefined : answer.firstSeq;
    }
    case "forget":
      return answerOf<"forget">(op)?.found ? seqOf(op) : undefined;
    case "clear":
      return (answerOf<"clear">(op)?.removed ?? 0) > 0 ? seqOf(op) : undefined;
    case "softDelete":
      return answerOf<"softDelete">(op)?.moved ? seqOf(op) : undefined;
    case "restore":
      return answerOf<"restore">(op)?.seq;
    default:
      return undefined;
  }
}

/** The bounds of each, from real time alone: what was answered before another began comes before it. */
export function boundsOf(operations: readonly Operation[], highest: number): Bounds[] {
  const byEnd = operations.map((_, i) => i).sort((a, b) => operations[a].end - operations[b].end);
  const byBegin = operations.map((_, i) => i).sort((a, b) => operations[a].begin - operations[b].begin);
  const lower: number[] = [];
  let ended = 0;
  let known = 0;
  for (const i of byBegin) {
    for (; ended < byEnd.length && operations[byEnd[ended]].end < operations[i].begin; ended++)
      known = Math.max(known, seqOf(operations[byEnd[ended]]));
    lower[i] = known;
  }
  const upper: number[] = [];
  let next = byBegin.length - 1;
  let least = highest;
  for (const i of [...byEnd].reverse()) {
    for (; next >= 0 && operations[byBegin[next]].begin > operations[i].end; next--)
      least = Math.min(least, (changedAt(operations[byBegin[next]]) ?? Number.POSITIVE_INFINITY) - 1);
    const seq =
      refusalOf(operations[i]) === undefined && operations[i].call !== "rememberMany" ? seqOf(operations[i]) : 0;
    upper[i] = seq > 0 && operations[i].call !== "recall" ? seq : Math.max(least, lower[i], seq);
  }
  return operations.map((_, i) => ({ lower: lower[i], upper: upper[i] }));
}
