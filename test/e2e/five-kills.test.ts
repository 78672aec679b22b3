import { expect, test } from "vitest";
import { runKills } from "../torture/kills/run-kills.js";
import { temporaryDirectory } from "./support/service.js";

// The short form of test/torture/kills/kill-nine.test.ts, which has the controls.

test.each(["kill9", "power-cut"] as const)(
  "five kills under load lose nothing and bring nothing back (%s)",
  async (victim) => {
    const report = await runKills({ cycles: 5, victim, dir: temporaryDirectory(), seed: Date.now() % 1_000_000 });
    expect(report).toMatchObject({ kills: 5, lost: [], resurrected: [], problems: [] });
    expect(report.acknowledged).toBeGreaterThan(20);
  },
);
