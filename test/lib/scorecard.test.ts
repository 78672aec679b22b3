import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { NONE, type Part, SOME, sizeOf } from "../torture/part.js";
import { type Measure, type Outcome, type PartReport, runPart } from "./scorecard.js";

const measures = [
  { id: "harm", unit: "entries", target: NONE },
  { id: "harm_control", unit: "entries", target: SOME },
];

function score(part: Partial<Part>): Promise<PartReport> {
  const dir = mkdtempSync(join(tmpdir(), "reverie-scorecard-"));
  onTestFinished(() => {
    expect(readdirSync(dir), "what a part made is removed").toEqual([]);
    rmSync(dir, { recursive: true });
  });
  const run = async (): Promise<Outcome> => ({ values: {}, facts: {}, findings: [] });
  const whole: Part = { name: "p", title: "A part", measures, run, ...part };
  return runPart(whole, { dir, size: sizeOf(1), seed: 1, progress: () => {} });
}

const valued = (harm: number, control: number): Partial<Part> => ({
  run: async ({ dir }) => {
    writeFileSync(join(dir, "left"), "");
    return { values: { harm, harm_control: control }, facts: {}, findings: [] };
  },
});
const oks = ({ results }: PartReport): boolean[] => results.map(({ ok }) => ok);

test("no harm, and a control that finds some, are ok", async () => {
  const report = await score(valued(0, 3));
  expect(report.results).toEqual([
    { id: "harm", value: 0, unit: "entries", target: "= 0", ok: true },
    { id: "harm_control", value: 3, unit: "entries", target: ">= 1", ok: true },
  ]);
});

test("harm is not, nor is a control that finds nothing", async () => {
  expect(oks(await score(valued(1, 0)))).toEqual([false, false]);
});

test("a bound includes its value; an aim is told, and missed without harm", async () => {
  const bounds: readonly Measure[] = [
    { id: "harm", unit: "ms", target: { relation: "<=", value: 2.5 }, aim: { relation: "<=", value: 1 } },
    { id: "harm_control", unit: "times", target: { relation: ">=", value: 300 } },
  ];
  const within = await score({ ...valued(2.5, 300), measures: bounds });
  expect(within.results[0]).toEqual({ id: "harm", value: 2.5, unit: "ms", target: "<= 2.5", ok: true, aim: "<= 1" });
  expect(oks(within)).toEqual([true, true]);
  expect(oks(await score({ ...valued(2.51, 299.9), measures: bounds }))).toEqual([false, false]);
  expect(oks(await score({ ...valued(Number.NaN, Number.NaN), measures: bounds }))).toEqual([false, false]);
});

test("what measured nothing is not ok: a part that can't run, breaks off, or leaves a value out", async () => {
  const hindered = await score({ obstacle: () => "needs root" });
  expect(hindered.results[0]).toMatchObject({ value: null, ok: false, note: "needs root" });
  const broken = await score({ run: () => Promise.reject(new Error("on the way")) });
  expect(broken.results[1]).toMatchObject({ value: null, ok: false });
  expect(broken.results[1].note).toContain("on the way");
  expect(oks(await score({}))).toEqual([false, false]);
});

test("200 cycles are the full measure, and fewer shrink all of it", () => {
  expect(sizeOf(200)).toEqual({
    kills: 200,
    faultStep: 1,
    crashStates: 5_000,
    powerCuts: 20,
    byteStep: 1,
    historyCalls: 20_000,
  });
  expect(sizeOf(4)).toMatchObject({ kills: 4, faultStep: 50, crashStates: 100, powerCuts: 1 });
});
