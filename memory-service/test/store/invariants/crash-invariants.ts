import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";
import { mortalFs } from "../../../../test/torture/crash-states/mortal-fs.js";
import { VolatileDisk } from "../../../../test/torture/volatile/volatile-disk.js";
import { agent, listAll } from "../support.js";
import { type Command, lively } from "./commands.js";
import type { Invariant } from "./holds.js";
import { type Sabotage, World } from "./world.js";

/** Opening an empty directory takes about this many changes of the file system. */
const MOST_CHANGES = 150;

/** The power goes at some change of the file system; what was acknowledged before is there, and what was forgotten isn't. */
export const powerCutCostsNothing: Invariant = (sabotage?: Sabotage) =>
  fc.asyncProperty(lively, fc.nat(MOST_CHANGES), fc.nat(), async (commands, fatal, seed) => {
    const root = mkdtempSync(join(tmpdir(), "reverie-cut-"));
    const disk = new VolatileDisk({ base: root, limbo: `${root}-limbo`, seed, earlyChance: 0.3 });
    const mortal = mortalFs(disk.boot(), fatal);
    const world = new World({}, { root, durability: "fsync", fs: sabotage?.fs?.(mortal.fs) ?? mortal.fs });
    let underway: Command | undefined;
    const gone = new Set<string>();
    let seq = 0;
    const life = async (): Promise<void> => {
      await world.open();
      for (const command of commands) {
        underway = command;
        const step = await world.perform(command);
        underway = undefined;
        seq = Math.max(seq, step.seq ?? 0);
        for (const { id } of step.gone) gone.add(id);
        for (const { id } of world.live) gone.delete(id);
      }
      await mortal.kill();
    };
    try {
      await Promise.race([life(), mortal.death]);
      const touched = idsOf(underway);
      const after = new World({}, { root, durability: "fsync", fs: disk.boot() });
      await after.open();
      try {
        const seen = await listAll(after.store);
        const settled = world.sorted().filter(({ id }) => !touched.has(id));
        expect(seen.filter(({ id }) => !touched.has(id))).toEqual(settled);
        for (const { id } of seen) if (!touched.has(id)) expect(gone).not.toContain(id);
        if (seq > 0) expect((await after.store.describe(agent, { minSeq: 0 })).seq).toBeGreaterThanOrEqual(seq);
      } finally {
        await after.store.close();
      }
    } finally {
      disk.end();
      rmSync(root, { recursive: true, force: true });
    }
  }) as ReturnType<Invariant>;

function idsOf(command: Command | undefined): Set<string> {
  if (command?.do === "append") return new Set(command.entries.map(({ id }) => id));
  return new Set(command !== undefined && "id" in command ? [command.id] : []);
}
