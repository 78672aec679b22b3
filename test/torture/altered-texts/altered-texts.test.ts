import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runPart } from "../../lib/scorecard.js";
import { sizeOf } from "../part.js";
import { alteredTextsPart } from "./part.js";

test("a damaged log serves no altered text, and loses nothing but what was damaged; without checksums it would", {
  timeout: 120_000,
}, async () => {
  const dir = mkdtempSync(join(tmpdir(), "reverie-altered-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const seed = Date.now() % 1_000_000;
  const { findings, results } = await runPart(alteredTextsPart, { dir, size: sizeOf(2), seed, progress: () => {} });
  expect(findings, `seed ${seed}`).toEqual([]);
  expect(results.filter(({ ok }) => !ok)).toEqual([]);
});
