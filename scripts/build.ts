// Compiles every package to its dist/ as npm would publish it: each against the
// dist/ of those before it, so that what a consumer resolves is what was checked.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { packages } from "./lib/packages.js";
import { root } from "./lib/repo.js";
import { runPart } from "./lib/run-part.js";

for (const { dir } of packages()) rmSync(join(root, dir, "dist"), { recursive: true, force: true });
for (const { dir, name } of packages()) {
  if (await runPart({ name, command: ["tsc", "--project", join(dir, "tsconfig.build.json")] })) continue;
  process.exitCode = 1;
  break;
}
