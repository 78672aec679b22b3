// Every test there is: all suites on this Node and the newest supported one, contract and
// e2e on the one between, the packages as npm would publish them, buf curl, and the torture
// scorecard. Ends with `N passed, N failed`, where each target of the scorecard counts as a
// test, and so does a step that failed without a failed test. A missing tool is a failure.
//
//   --results <dir>   keep the JSON reports and `summary` there
//   --cycles <n>      the scorecard's size; 200 is the full measure, default 20
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { installOtherNodes } from "./lib/node-versions.js";
import { root, sourceArgs, toolEnv } from "./lib/repo.js";
import { runPart } from "./lib/run-part.js";
import { readReport, sumReports } from "./lib/test-results.js";

const { values } = parseArgs({
  options: { results: { type: "string" }, cycles: { type: "string", default: "20" } },
});
const results = resolve(values.results ?? join(root, "node_modules/.cache/reverie-test"));
rmSync(results, { recursive: true, force: true });
mkdirSync(results, { recursive: true });

let failedSteps = 0;

async function vitest(name: string, binDir?: string, suites: readonly string[] = []): Promise<void> {
  const report = join(results, `${name.replaceAll(" ", "-")}.json`);
  const node = binDir === undefined ? process.execPath : join(binDir, "node");
  const ok = await runPart({
    name,
    command: [
      node,
      "node_modules/vitest/vitest.mjs",
      "run",
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`,
      ...suites.map((suite) => `--project=${suite}`),
    ],
    env: {
      // Where a tool is missing, a test fails that `npm test` leaves out.
      REVERIE_TEST_ALL: "1",
      ...(binDir !== undefined && { PATH: `${binDir}${delimiter}${toolEnv.PATH}` }),
    },
    live: true,
  });
  countFailure(ok, report);
}

async function torture(): Promise<void> {
  const report = join(results, "torture.json");
  const args = ["test/torture/main.ts", "--cycles", values.cycles, "--json", report];
  countFailure(
    await runPart({ name: "torture", command: [process.execPath, ...sourceArgs, ...args], live: true }),
    report,
  );
}

/** A run that failed without a failed test in its report. */
function countFailure(ok: boolean, report: string): void {
  if (!ok && (!existsSync(report) || readReport(report).failed === 0)) failedSteps += 1;
}

async function step(name: string, script: string): Promise<void> {
  if (!(await runPart({ name, command: [process.execPath, ...sourceArgs, script] }))) failedSteps += 1;
}

await vitest(`node ${process.versions.node}`);
try {
  const others = installOtherNodes();
  for (const [i, { version, binDir }] of others.entries()) {
    // The oldest and the newest run all; between them, what goes through whole services.
    await vitest(`node ${version}`, binDir, i === others.length - 1 ? [] : ["contract", "e2e"]);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  failedSteps += 1;
}
await step("pack", "scripts/check-pack.ts");
await step("buf curl", "scripts/check-buf-curl.ts");
await torture();

const totals = sumReports(results);
const failed = totals.failed + failedSteps;
const summary = `${totals.passed} passed, ${failed} failed`;
writeFileSync(join(results, "summary"), `${summary}\n`);
console.log(summary);
if (failed > 0) process.exitCode = 1;
