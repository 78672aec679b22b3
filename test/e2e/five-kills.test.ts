import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServiceBundle } from "../lib/service-bundle.js";
import { runKills } from "../torture/kills/run-kills.js";
import { bundleVictims, victimRig } from "../torture/kills/victims.js";
import { temporaryDirectory } from "./support/service.js";

// The short form of test/torture/kills/part.ts, which has the controls.

/** Twelve starts of a service take seconds, unless the machine is busy elsewhere. */
const BUSY_MACHINE_MS = 300_000;

let bundle: ServiceBundle;
beforeAll(async () => {
  bundle = await bundleVictims();
});
afterAll(() => bundle.remove());

test.each(["kill9", "power-cut"] as const)(
  "five kills under load lose nothing and bring nothing back (%s)",
  { timeout: BUSY_MACHINE_MS },
  async (victim) => {
    const seed = Date.now() % 1_000_000;
    const dir = temporaryDirectory();
    const report = await runKills({ rig: victimRig(victim, bundle, dir, seed), cycles: 5, dir, seed });
    expect(report, `seed ${seed}`).toMatchObject({ kills: 5, lost: [], resurrected: [], problems: [] });
    expect(report.acknowledged).toBeGreaterThan(20);
  },
);
