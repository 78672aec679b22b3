import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fillDisk } from "./fill-disk.js";
import { limitFiles } from "./limit-files.js";
import { fullDiskPart } from "./part.js";

const TIMEOUT_MS = 120_000;

function emptyDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), "reverie-full-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test("a full disk refuses writes, still forgets, and takes writes again when there is space", {
  timeout: TIMEOUT_MS,
}, async (context) => {
  const obstacle = fullDiskPart.obstacle?.();
  if (obstacle !== undefined && process.env.REVERIE_TEST_ALL === undefined) return context.skip(obstacle);
  const { wrong, acknowledged, refused } = await fillDisk(join(emptyDirectory(), "disk"));
  expect(wrong).toEqual([]);
  expect(acknowledged).toBeGreaterThan(50);
  expect(refused).toBeGreaterThan(1);
});

test("limits of file size and of open files refuse writes, and nothing else", { timeout: TIMEOUT_MS }, async () => {
  const { wrong, refused } = await limitFiles(emptyDirectory());
  expect(wrong).toEqual([]);
  expect(refused).toBeGreaterThan(2);
});
