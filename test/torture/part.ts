import type * as scorecard from "../lib/scorecard.js";
import type { PartContext, Target } from "../lib/scorecard.js";

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

export interface Context extends PartContext {
  readonly size: Size;
}

export type Part = scorecard.Part<Context>;

/** Harm: there must be none. */
export const NONE: Target = { relation: "=", value: 0 };
/** What a negative control finds: some harm, or the rig can't see any. */
export const SOME: Target = { relation: ">=", value: 1 };
