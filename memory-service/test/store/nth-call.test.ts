import { appendFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { faults, runFaults, swallowed } from "../../../test/torture/faults/run-faults.js";
import { scenarios } from "../../../test/torture/faults/scenarios.js";
import { type Fs, realFs } from "../../src/store/jsonl/fs.js";
import { agent, entry, listAll, openStore, temporaryRoot } from "./support.js";

// A short cut of `npm run torture -- --only faults`, which fails every call of every operation in every way.

const TIMEOUT_MS = 300_000;

test("whatever call to the file system fails, nothing acknowledged is lost and nothing refused comes back", {
  timeout: TIMEOUT_MS,
}, async () => {
  const runs = await runFaults({ dir: temporaryRoot(), scenarios, faults, step: 60, seed: Date.now() % 60 });
  expect(runs.wrong).toEqual([]);
  expect(runs.points).toBeGreaterThan(40);
});

test("a call that only claims to have worked is found", { timeout: TIMEOUT_MS }, async () => {
  const remember = scenarios.filter(({ name }) => name === "remember");
  const runs = await runFaults({ dir: temporaryRoot(), scenarios: remember, faults: [swallowed], step: 1 });
  expect(runs.broken).toBeGreaterThan(0);
});

const syncFaults = faults.filter(({ ending }) => ending === "cut");

test("what is acknowledged after a failed sync survives a power cut", { timeout: TIMEOUT_MS }, async () => {
  const openBefore = readdirSync("/proc/self/fd").length;
  const chosen = scenarios.filter(({ name }) => ["attach to a new owner", "sweep", "clear"].includes(name));
  const runs = await runFaults({ dir: temporaryRoot(), scenarios: chosen, faults: syncFaults, step: 1 });
  expect(chosen).toHaveLength(3);
  expect(runs.wrong).toEqual([]);
  expect(runs.points).toBeGreaterThan(15);
  // Thousands of runs must not use up what one process may open.
  expect(readdirSync("/proc/self/fd").length).toBeLessThan(openBefore + 15);
});

test("the same finds what a store without syncs loses", { timeout: TIMEOUT_MS }, async () => {
  const unsynced = scenarios
    .filter(({ name }) => name === "remember by a new owner")
    .map((scenario) => ({ ...scenario, options: { durability: "none" } as const }));
  const runs = await runFaults({ dir: temporaryRoot(), scenarios: unsynced, faults: syncFaults, step: 1 });
  expect(runs.wrong.join("\n")).toContain("after a power cut");
});

test("an owner with a torn tail opens on a full disk, from the space kept aside", async () => {
  const root = temporaryRoot();
  const reserve = join(root, ".reserve");
  const first = await openStore({ root, reserveBytes: 4096 });
  await first.append(agent, [entry("a", "one")]);
  await first.close();
  appendFileSync(join(root, "agent", "x", "episodic.jsonl"), '{"id":"torn');
  const write: Fs["write"] = async (fd, bytes, position) => {
    if (statSync(reserve).size > 0) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
    return realFs.write(fd, bytes, position);
  };
  const second = await openStore({ root, reserveBytes: 4096, fs: { ...realFs, write } });
  expect((await listAll(second)).map(({ id }) => id)).toEqual(["a"]);
  expect(statSync(reserve).size).toBe(0);
  expect((await second.describe(agent, { minSeq: 0 })).tornTails).toBe(1);
});
