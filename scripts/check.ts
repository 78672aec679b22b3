// Everything that a change must pass besides its tests, under a minute.
import { writeProtoDeps } from "./lib/proto-deps.js";
import { type Part, runPart } from "./lib/run-part.js";

const colors = process.stdout.isTTY ? "force" : "off";
const parts: readonly Part[] = [
  { name: "types", command: ["tsc", "--project", "tsconfig.json"] },
  { name: "format and lint", command: ["biome", "ci", `--colors=${colors}`, "--max-diagnostics=100"] },
  { name: "layers", command: ["tsx", "scripts/check-layers.ts"] },
  { name: "generated code", command: ["tsx", "scripts/generate.ts", "--check"] },
  { name: "buf lint", command: ["buf", "lint"] },
  { name: "buf breaking", command: ["tsx", "scripts/check-breaking.ts"] },
];

writeProtoDeps();
const results = await Promise.all(parts.map(runPart));
if (results.includes(false)) process.exitCode = 1;
