import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "../../e2e/support/service-process.js";
import { between, seededRandom } from "../../lib/random.js";
import { bundleService, type ServiceBundle } from "../../lib/service-bundle.js";
import type { Rig } from "./run-kills.js";

/**
 * - `kill9`: the service on the real file system. The page cache survives.
 * - `power-cut`: a test build whose page cache dies with it; see `volatile-fs.ts`.
 * - `power-cut-unsynced`: the same without fdatasync before the acknowledgement. Must lose.
 * - `late-writer`: a test build that writes 20 ms after it acknowledged. Must lose.
 */
export type Victim = "kill9" | "power-cut" | "power-cut-unsynced" | "late-writer";

/** Compaction comes often. */
export const LOAD_FLAGS: readonly string[] = ["--compact-min-bytes", "4096"];

/** What `victimRig` needs: the service, and its test build whose file system dies with it; see `victim.ts`. */
export function bundleVictims(): Promise<ServiceBundle> {
  return bundleService({ victim: `${checkout}test/torture/kills/victim.ts` });
}

/** A victim that SIGKILL ends, with its data below an empty directory. */
export function victimRig(victim: Victim, bundle: ServiceBundle, dir: string, seed: number): Rig {
  const base = join(dir, "base");
  const dataDir = join(base, "data");
  // The lock is a real file, so its directory has to be there.
  mkdirSync(dataDir, { recursive: true });
  const random = seededRandom(seed);
  return {
    name: victim,
    dataDir,
    process: (life) => {
      if (victim === "kill9") return { dataDir, entry: bundle.main, flags: LOAD_FLAGS };
      return {
        dataDir,
        entry: bundle.file("victim"),
        flags: victim === "power-cut-unsynced" ? [...LOAD_FLAGS, "--durability", "none"] : LOAD_FLAGS,
        env: {
          VICTIM_BASE: base,
          // What a cut left there is lost.
          VICTIM_LIMBO: join(dir, `limbo-${life}`),
          VICTIM_SEED: String(between(random, 0, 2 ** 31)),
          ...(victim === "late-writer" && { VICTIM_LATE_MS: "20" }),
        },
      };
    },
    end: async (service) => {
      await service.end("SIGKILL");
    },
  };
}
