import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type KillReport, runKills, type Victim } from "./run-kills.js";

/** 2 doubles the kills, 0.1 makes it a tenth. */
const scale = Number(process.env.TORTURE_CYCLES ?? 100) / 100;
const cycles = (kills: number): number => Math.max(1, Math.round(kills * scale));
const seed = Number(process.env.TORTURE_SEED ?? Date.now() % 1_000_000);
/** A run of 100 takes about two minutes on two idle cores. Milliseconds. */
const TIMEOUT_MS = 900_000 * Math.max(1, scale);

function emptyDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), "reverie-torture-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function fdatasyncMs(dir: string): number {
  const fd = openSync(join(dir, "probe"), "w");
  const times = Array.from({ length: 50 }, () => {
    const started = performance.now();
    writeSync(fd, "x".repeat(200));
    fdatasyncSync(fd);
    return performance.now() - started;
  });
  closeSync(fd);
  return times.sort((a, b) => a - b)[25];
}

async function run(victim: Victim, kills: number, untilLoss = false): Promise<KillReport> {
  const dir = emptyDirectory();
  const sync = fdatasyncMs(dir);
  const report = await runKills({ victim, cycles: kills, dir, seed, untilLoss });
  const { acknowledged, lost, resurrected, settled, tornTails, corruptLines, durationMs } = report;
  console.log(
    `${victim}: ${report.kills} kills, ${acknowledged} acknowledged writes, ${lost.length} lost, ` +
      `${resurrected.length} resurrected, ${settled} outcomes unknown at a kill, ${tornTails} torn tails, ` +
      `${corruptLines} unreadable lines; ${(durationMs / 1000).toFixed(0)} s, fdatasync ${sync.toFixed(2)} ms, seed ${seed}`,
  );
  return report;
}

test("kill -9 loses no acknowledged write and brings nothing back", { timeout: TIMEOUT_MS }, async () => {
  const kills = cycles(100);
  const report = await run("kill9", kills);
  expect(report).toMatchObject({ kills, lost: [], resurrected: [], problems: [], corruptLines: 0 });
  expect(report.acknowledged).toBeGreaterThan(kills * 10);
});

test("a power cut neither", { timeout: TIMEOUT_MS }, async () => {
  const kills = cycles(30);
  const report = await run("power-cut", kills);
  // Unreadable lines may be what is left of a batch that was never acknowledged, its pages written in any order.
  expect(report).toMatchObject({ kills, lost: [], resurrected: [], problems: [] });
  expect(report.acknowledged).toBeGreaterThan(kills * 10);
});

test("without fdatasync before the acknowledgement, the same power cuts lose writes", {
  timeout: TIMEOUT_MS,
}, async () => {
  const report = await run("power-cut-unsynced", 20, true);
  expect(report.acknowledged).toBeGreaterThan(0);
  expect(report.lost.length).toBeGreaterThan(0);
});

test("acknowledged before it is written, the same kills lose writes", { timeout: TIMEOUT_MS }, async () => {
  const report = await run("late-writer", 20, true);
  expect(report.acknowledged).toBeGreaterThan(0);
  expect(report.lost.length).toBeGreaterThan(0);
});
