import { type Action, type Problem, problems } from "./problems.js";

export interface Finding {
  /** Relative to the data directory; "" is the directory itself. */
  readonly path: string;
  /** Stable code. */
  readonly problem: Problem;
  /** `information`: nothing is wrong with it, and it doesn't count as remaining. */
  readonly severity: "problem" | "information";
  /** Counted from 1, blank lines included. */
  readonly line?: number;
  /** Byte offset in the file. */
  readonly at?: number;
  /** Bytes it is about. */
  readonly bytes?: number;
  /** Of the entry it is about. */
  readonly id?: string;
  /** What it is, and what to do. */
  readonly message: string;
  /** What `fix` or, for `adopt`, `adopt` does about it. */
  readonly action: Action;
  /** It was done in this run. */
  readonly done: boolean;
}

/** What was seen, before anything is done about it; its message is only made when it is told. */
export interface Observation {
  readonly path: string;
  readonly problem: Problem;
  readonly line?: number;
  readonly at?: number;
  readonly bytes?: number;
  readonly id?: string;
  /** Stands in the message where the problem's text has `%s`. */
  readonly detail?: string;
  /** Why nothing can be done about it, and what to do instead: then the action is `none`. */
  obstacle?: string;
  done?: boolean;
}

/** Of bytes of a log. */
export interface LineObservation extends Observation {
  readonly line: number;
  readonly at: number;
  readonly bytes: number;
}

export function toFinding({ obstacle, detail, done = false, ...seen }: Observation): Finding {
  const { text, action, severity } = problems[seen.problem];
  const message = text.replace("%s", () => detail ?? "");
  return obstacle === undefined
    ? { ...seen, severity, message, action, done }
    : { ...seen, severity, message: `${message}; ${obstacle}`, action: "none", done: false };
}
