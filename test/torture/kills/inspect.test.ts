import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { naiveRead } from "./inspect.js";

test("a plain reader finds what the logs hold, and nothing of an owner that is in the trash", () => {
  const dir = mkdtempSync(join(tmpdir(), "reverie-inspect-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const owner = { kind: "shared", id: "moving" } as const;
  expect(naiveRead(dir, owner)).toEqual([]);
  mkdirSync(join(dir, "shared", "moving"), { recursive: true });
  writeFileSync(
    join(dir, "shared", "moving", "semantic.jsonl"),
    '{"id":"a","text":"one"}\n{"forget":"b"}\n{"id":"torn',
  );
  expect(naiveRead(dir, owner)).toEqual([{ id: "a", text: "one", kind: "semantic" }]);
});
