// The service as a test build: its file system loses on SIGKILL what a power cut loses.

import { seededRandom } from "../../lib/random.js";
import { runTestBuild } from "../run-test-build.js";
import { volatileFs } from "../volatile/volatile-fs.js";

const { VICTIM_BASE: base, VICTIM_LIMBO: limbo, VICTIM_SEED, VICTIM_LATE_MS } = process.env;
if (!base || !limbo) throw new Error("VICTIM_BASE and VICTIM_LIMBO name directories");

const fs = volatileFs({
  base,
  limbo,
  random: seededRandom(Number(VICTIM_SEED)),
  earlyChance: 0.3,
  stepMs: 1,
  ...(VICTIM_LATE_MS && { lateMs: Number(VICTIM_LATE_MS) }),
});

await runTestBuild(fs);
