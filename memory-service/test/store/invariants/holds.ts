import fc from "fast-check";
import { expect, test } from "vitest";
import type { Sabotage } from "./world.js";

/** Something that is always true of a store, unless a sabotage breaks it. */
export type Invariant = (sabotage?: Sabotage) => fc.IAsyncPropertyWithHooks<never>;

/** How often each is tried with other commands. */
const numRuns = Number(process.env.MODEL_RUNS ?? 30);
const TIMEOUT_MS = 600_000;
/** A control that needs more runs than this to fail shows little. */
const CONTROL_RUNS = 200;

/** A failure is shrunk, and says with which seed to see it again. */
export function holds(title: string, invariant: Invariant): void {
  test(title, { timeout: TIMEOUT_MS }, () => fc.assert(invariant(), { numRuns }));
}

/** The same test, of a store that breaks it. */
export function fails(title: string, invariant: Invariant, sabotage: Sabotage): void {
  test(title, { timeout: TIMEOUT_MS }, async () => {
    const how = { numRuns: CONTROL_RUNS, endOnFailure: true, seed: 1 };
    const { failed, errorInstance } = await fc.check(invariant(sabotage), how);
    expect(failed).toBe(true);
    // Not because the sabotage itself broke.
    expect(errorInstance).toMatchObject({ name: "AssertionError" });
  });
}
