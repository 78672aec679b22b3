// Generates proto/gen from the .proto files. `--check` writes nothing there and
// fails when the files on disk, committed or not, are not what would be generated.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { diffTrees } from "./lib/diff-trees.js";
import { writeProtoDeps } from "./lib/proto-deps.js";
import { root, toolEnv, withTempDir } from "./lib/repo.js";

function generate(outputDir: string): void {
  execFileSync("buf", ["generate", "--output", outputDir], { cwd: root, env: toolEnv, stdio: "inherit" });
}

writeProtoDeps();
if (process.argv.includes("--check")) {
  await withTempDir("generate", (dir) => {
    generate(dir);
    const drift = diffTrees(join(dir, "proto/gen"), join(root, "proto/gen"));
    if (drift.length === 0) return;
    console.error(`proto/gen is not what the .proto files give. Run \`npm run generate\`.\n${drift.join("\n")}`);
    process.exitCode = 1;
  });
} else {
  generate(".");
}
