import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { mortalFs } from "./mortal-fs.js";
import { RecordingFs, type SkipSync } from "./recording-fs.js";
import { openOn, owners, Promised, playScript } from "./store-script.js";
import { Trace } from "./trace.js";

export interface Recorded {
  readonly trace: Trace;
  /** States of crashes from here on are this trace's own. */
  readonly from: number;
  /** Ticks at which a sync was left out. */
  readonly skipped: readonly number[];
  /** Changes of the file system that the script made. */
  readonly changes: number;
  readonly wrong: readonly string[];
}

export interface RecordOptions {
  /** Made, and removed again. */
  readonly base: string;
  /** The script's process is killed at this change of the file system; another one looks, writes and ends. Default: never. */
  readonly fatal?: number;
  readonly durability?: "fsync" | "none";
  readonly skip?: SkipSync;
}

/** Plays the script on a real directory and records what the store does to it. */
export async function record({ base, fatal, durability, skip }: RecordOptions): Promise<Recorded> {
  mkdirSync(base, { recursive: true });
  const root = join(base, "data");
  const trace = new Trace();
  const recording = new RecordingFs(base, trace, skip);
  const mortal = mortalFs(recording.fs, fatal ?? Number.POSITIVE_INFINITY);
  const promised = owners.map((owner) => new Promised(owner, trace));
  const wrong: string[] = [];
  let survived = false;
  const life = async (): Promise<void> => {
    const store = await openOn(mortal.fs, root, durability);
    await playScript(store, promised);
    await store.close();
    survived = true;
  };
  await Promise.race([life(), mortal.death]);
  let from = 1;
  if (!survived) {
    // What the dead process had begun, the kernel ends.
    await new Promise((resolve) => setTimeout(resolve, 20));
    await recording.closeAll();
    from = trace.tick;
    const store = await openOn(recording.fs, root, durability);
    for (const one of promised) {
      const compared = await one.compare(store, true);
      wrong.push(...compared.wrong.map((what) => `killed at change ${fatal}: ${one.owner.id}: ${what}`));
      await one.append(store, [`second-${one.owner.id}`]);
    }
    await store.close();
  }
  rmSync(base, { recursive: true });
  return { trace, from, skipped: recording.skipped, changes: mortal.changes(), wrong };
}
