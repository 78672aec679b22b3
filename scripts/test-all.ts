// Every test there is: all suites on this Node, all but torture on the other
// supported ones, the packages as npm would publish them, and buf curl. Ends with
// `N passed, N failed`, where a step that failed without a failed test counts as one.
//
//   --results <dir>   keep vitest's JSON reports and `summary` there
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { installOtherNodes } from "./lib/node-versions.js";
import { root, toolEnv } from "./lib/repo.js";
import { runPart } from "./lib/run-part.js";
import { readReport, sumReports } from "./lib/test-results.js";

const { values } = parseArgs({ options: { results: { type: "string" } } });
const results = resolve(values.results ?? join(root, "node_modules/.cache/reverie-test"));
rmSync(results, { recursive: true, force: true });
mkdirSync(results, { recursive: true });

let failedSteps = 0;

async function vitest(name: string, binDir: string | undefined, suites: readonly string[]): Promise<void> {
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
    env: binDir === undefined ? {} : { PATH: `${binDir}${delimiter}${toolEnv.PATH}` },
    live: true,
  });
  if (!ok && (!existsSync(report) || readReport(report).failed === 0)) failedSteps += 1;
}

async function step(name: string, script: string): Promise<void> {
  const command = [process.execPath, "--conditions=@reverie/source", "--import", "tsx", script] as const;
  if (!(await runPart({ name, command: [...command] }))) failedSteps += 1;
}

await vitest(`node ${process.versions.node}`, undefined, []);
try {
  for (const { version, binDir } of installOtherNodes()) {
    await vitest(`node ${version}`, binDir, ["unit", "contract", "e2e"]);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  failedSteps += 1;
}
await step("pack", "scripts/check-pack.ts");
await step("buf curl", "scripts/check-buf-curl.ts");

const totals = sumReports(results);
const failed = totals.failed + failedSteps;
const summary = `${totals.passed} passed, ${failed} failed`;
writeFileSync(join(results, "summary"), `${summary}\n`);
console.log(summary);
if (failed > 0) process.exitCode = 1;
