/** How much of everything; `sizeOf` gives it for a number of kills. */
export interface Size {
  /** kill -9 of a busy service. */
  readonly kills: number;
  /** Of the places where a call to the file system can fail, every so-manieth. 1: all. */
  readonly faultStep: number;
  /** States that a crash may leave, made from recorded traces. */
  readonly crashStates: number;
  /** Power cuts, on each file system. */
  readonly powerCuts: number;
  /** A log of 64 kB is truncated at every so-manieth byte, and as many bits are flipped. 1: all. */
  readonly byteStep: number;
  /** Calls of concurrent clients whose replies are checked. */
  readonly historyCalls: number;
}

/** 200 cycles are the full measure; fewer make everything smaller alike. */
export function sizeOf(cycles: number): Size {
  const share = cycles / 200;
  const count = (full: number): number => Math.max(1, Math.round(full * share));
  const step = Math.max(1, Math.round(1 / share));
  return {
    kills: cycles,
    faultStep: step,
    crashStates: count(5_000),
    powerCuts: count(20),
    byteStep: step,
    historyCalls: count(20_000),
  };
}

export interface Context {
  /** An empty directory of the part's own, on the disk under test. Removed afterwards. */
  readonly dir: string;
  readonly size: Size;
  /** The same seed makes the same choices; what the machine does in between stays its own. */
  readonly seed: number;
  /** Says how far it is, for people: "37 of 200 kills". */
  readonly progress: (text: string) => void;
}

/** One figure of the scorecard. */
export interface Measure {
  readonly id: string;
  readonly unit: string;
  /** `none`: must be 0. `some`: a negative control, which must find something. */
  readonly wanted: "none" | "some";
}

export interface Outcome {
  /** By the measures' ids; each has one. */
  readonly values: Readonly<Record<string, number>>;
  /** What to read beside them: acknowledged, torn, seconds. */
  readonly facts: Readonly<Record<string, number | string>>;
  /** What was found wrong, for people. Controls' findings aren't among them. */
  readonly findings: readonly string[];
}

/** A part of the scorecard: it hurts a store in one way, and counts what that broke. */
export interface Part {
  /** As `--only` names it. */
  readonly name: string;
  /** One line for people. */
  readonly title: string;
  readonly measures: readonly Measure[];
  /** Why it can't run here, and what to do; undefined when it can. */
  readonly obstacle?: () => string | undefined;
  readonly run: (context: Context) => Promise<Outcome>;
}
