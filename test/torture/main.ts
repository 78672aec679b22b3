// `npm run torture`: hurts the memory store in every way that a disk, a kernel or a
// user may, on the disk of your choice, and counts what that broke. See docs/durability.md.
import { tmpdir } from "node:os";
import { Command } from "commander";
import { listParts, partNames, runScorecard, wholeNumber } from "../lib/run-scorecard.js";
import { sizeOf } from "./part.js";
import { parts } from "./parts.js";

interface Options {
  readonly dir: string;
  readonly cycles: number;
  readonly seed: number;
  readonly json?: string;
  readonly only?: string[];
  readonly skip?: string[];
}

const program = new Command("npm run torture --")
  .description("Hurts the memory store on a disk of yours, and counts what that broke.")
  .option("--dir <path>", "a directory on the disk to test; what it makes there it removes", tmpdir())
  .option("--cycles <n>", "kills; everything else shrinks or grows with it", wholeNumber, 200)
  .option("--seed <n>", "make the choices of an earlier run", wholeNumber, (Date.now() % 1_000_000) + 1)
  .option("--json <file>", "write the scorecard there too")
  .option("--only <parts>", "comma-separated", partNames(parts))
  .option("--skip <parts>", "comma-separated", partNames(parts))
  .addHelpText(
    "after",
    `
Parts:
${listParts(parts)}

Exit codes: 0 all targets met, 1 something else, 2 wrong options.
Example, for an hour on the disk that will hold your data:
  npm run torture -- --dir /var/lib/reverie --cycles 1000 --json scorecard.json`,
  )
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));
program.parse();
const { dir, cycles, seed, json, only, skip = [] } = program.opts<Options>();

await runScorecard({
  parts: parts.filter(({ name }) => (only ?? [name]).includes(name) && !skip.includes(name)),
  dir,
  extent: `${cycles} cycles, seed ${seed}`,
  options: { cycles, seed },
  contextOf: (common) => ({ ...common, seed, size: sizeOf(cycles) }),
  ...(json !== undefined && { json }),
});
