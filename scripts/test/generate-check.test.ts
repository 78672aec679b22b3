import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { diffTrees } from "../lib/diff-trees.js";
import { withTempDir } from "../lib/repo.js";

it("names the files that are stale, missing or left over", async () => {
  await withTempDir("diff", (dir) => {
    for (const tree of ["wanted", "found"]) mkdirSync(join(dir, tree, "v1"), { recursive: true });
    const write = (path: string, text: string) => writeFileSync(join(dir, path), text);
    write("wanted/v1/same.ts", "a");
    write("found/v1/same.ts", "a");
    write("wanted/v1/old.ts", "a");
    write("found/v1/old.ts", "b");
    write("wanted/new.ts", "a");
    write("found/gone.ts", "a");
    expect(diffTrees(join(dir, "wanted"), join(dir, "found"))).toEqual([
      "left over: gone.ts",
      "missing: new.ts",
      "stale: v1/old.ts",
    ]);
    expect(diffTrees(join(dir, "wanted"), join(dir, "wanted"))).toEqual([]);
  });
});
