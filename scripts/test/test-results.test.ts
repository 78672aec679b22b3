import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { withTempDir } from "../lib/repo.js";
import { sumReports, totalsOf } from "../lib/test-results.js";

const passed = { status: "passed" };
const failed = { status: "failed" };

it("counts a file that could not be loaded as one failure", () => {
  expect(totalsOf({ testResults: [{ status: "failed", assertionResults: [] }] })).toEqual({ passed: 0, failed: 1 });
});

it("counts a failed test once, and a skipped one not at all", () => {
  const testResults = [{ status: "failed", assertionResults: [passed, failed, { status: "skipped" }] }];
  expect(totalsOf({ testResults })).toEqual({ passed: 1, failed: 1 });
});

it("adds up every report of a directory, and a scorecard's targets", async () => {
  await withTempDir("results", (dir) => {
    const testResults = [{ status: "failed", assertionResults: [passed, passed, failed] }];
    for (const name of ["a.json", "b.json"]) writeFileSync(join(dir, name), JSON.stringify({ testResults }));
    const results = [{ ok: true }, { ok: false }, { ok: true }];
    writeFileSync(join(dir, "torture.json"), JSON.stringify({ machine: {}, results }));
    writeFileSync(join(dir, "summary"), "not a report");
    expect(sumReports(dir)).toEqual({ passed: 6, failed: 3 });
  });
});
