import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Evidence } from "./evidence.js";

function setUp() {
  const dir = mkdtempSync(join(tmpdir(), "reverie-evidence-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const [run, data, keep] = ["run", "data", "kept/kill9"].map((name) => join(dir, name));
  for (const made of [run, data]) mkdirSync(made);
  const leave = (text: string): void => writeFileSync(join(data, "log"), text);
  return { run, data, keep, leave };
}

test("what the first kill that went wrong left is kept, with what must be in it and what was wrong", () => {
  const { run, data, keep, leave } = setUp();
  const evidence = new Evidence(run, keep);
  leave("first");
  evidence.record(data, { entries: ["a"] });
  leave("mended by the next start");
  evidence.keepFor(["a is lost"]);
  leave("second");
  evidence.record(data, { entries: ["b"] });
  evidence.keepFor(["a is lost", "b is lost"]);
  expect(evidence.kept).toBe(keep);
  expect(readFileSync(join(keep, "left/log"), "utf8")).toBe("first");
  expect(JSON.parse(readFileSync(join(keep, "expected.json"), "utf8"))).toEqual({ entries: ["a"] });
  expect(readFileSync(join(keep, "findings.txt"), "utf8")).toBe("a is lost\n");
});

test("what an earlier run kept stays", () => {
  const { run, data, keep } = setUp();
  for (const place of [keep, `${keep}-2`, `${keep}-3`]) {
    const evidence = new Evidence(run, keep);
    evidence.record(data, {});
    evidence.keepFor([]);
    expect(evidence.kept).toBe(place);
    expect(readdirSync(place).sort()).toEqual(["expected.json", "findings.txt", "left"]);
  }
});

test("a control keeps nothing, and the space held aside isn't copied", () => {
  const { run, data, keep } = setUp();
  writeFileSync(join(data, ".reserve"), "");
  const evidence = new Evidence(run, undefined);
  evidence.record(data, {});
  evidence.keepFor(["as it should"]);
  expect(existsSync(keep)).toBe(false);
  expect(readdirSync(join(run, "left"))).toEqual([]);
});
