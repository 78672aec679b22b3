import { join } from "node:path";
import type { Rig } from "../kills/run-kills.js";
import { LOAD_FLAGS } from "../kills/victims.js";
import { DYING_WITH_US, type LoopDisk } from "./loop-disk.js";

export interface CutRigOptions {
  readonly disk: LoopDisk;
  readonly name: string;
  /** The service's program. */
  readonly entry: string;
  /** Acknowledges without a sync: a control. Default false. */
  readonly unsynced?: boolean;
}

/**
 * A service on a disk of its own, whose power is cut.
 *
 * What counts as acknowledged: answers that came before the word to cut was given. One that comes after it may have
 * been sent before or after: its outcome is unknown, and both are right. What is asked for once the power is gone
 * can't become durable, so an acknowledgement of it is a loss: `probe` tries that.
 */
export function cutRig({ disk, name, entry, unsynced = false }: CutRigOptions): Rig {
  const dataDir = join(disk.mountPoint, name);
  const flags = unsynced ? [...LOAD_FLAGS, "--durability", "none"] : LOAD_FLAGS;
  return {
    name,
    dataDir,
    process: () => ({ dataDir, entry, flags, under: DYING_WITH_US }),
    end: async (service, load) => {
      load.freeze();
      await disk.cut();
      if (!unsynced) await load.probe(service.grpc);
      await service.end("SIGKILL");
      await disk.restart();
    },
  };
}
