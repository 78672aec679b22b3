import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Totals {
  readonly passed: number;
  readonly failed: number;
}

/** What `npm run torture -- --json FILE` writes. */
interface Scorecard {
  readonly results: readonly { readonly ok: boolean }[];
}

interface VitestReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/** The totals of one of vitest's JSON reports. A file that failed without a failed test counts as one failure. */
export function totalsOf(report: VitestReport): Totals {
  let passed = 0;
  let failed = 0;
  for (const file of report.testResults) {
    const count = (status: string) => file.assertionResults.filter((test) => test.status === status).length;
    const failures = count("failed");
    passed += count("passed");
    failed += failures === 0 && file.status === "failed" ? 1 : failures;
  }
  return { passed, failed };
}

/** A scorecard's totals: each target met or missed counts as a test. */
export function totalsOfScorecard({ results }: Scorecard): Totals {
  const passed = results.filter(({ ok }) => ok).length;
  return { passed, failed: results.length - passed };
}

/** The totals of a report of vitest or of torture. */
export function readReport(path: string): Totals {
  const report = JSON.parse(readFileSync(path, "utf8")) as VitestReport | Scorecard;
  return "results" in report ? totalsOfScorecard(report) : totalsOf(report);
}

/** The sums over every report in a directory. */
export function sumReports(dir: string): Totals {
  return readdirSync(dir)
    .filter((name) => name.endsWith(".json"))
    .map((name) => readReport(join(dir, name)))
    .reduce((sum, each) => ({ passed: sum.passed + each.passed, failed: sum.failed + each.failed }), {
      passed: 0,
      failed: 0,
    });
}
