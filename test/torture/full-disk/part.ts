import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Outcome } from "../../lib/scorecard.js";
import { type Context, NONE, type Part, SOME } from "../part.js";
import { fillDisk } from "./fill-disk.js";
import { limitFiles } from "./limit-files.js";
import { mountSmallDisk, unmountSmallDisk } from "./small-disk.js";

const careless = fileURLToPath(new URL("careless.ts", import.meta.url));

/** Real kernels refuse: a tmpfs of 1 MiB, the largest size of a file, the number of open files. */
export const fullDiskPart: Part = {
  name: "full-disk",
  title: "A real disk of 1 MiB, and limits of files",
  measures: [
    { id: "full_disk_failures", unit: "promises", target: NONE },
    { id: "full_disk_control", unit: "promises", target: SOME },
  ],
  obstacle,
  run,
};

async function run({ dir, progress }: Context): Promise<Outcome> {
  progress("a disk of 1 MiB");
  const disk = await fillDisk(join(dir, "disk"));
  progress("limits of files");
  const limits = await limitFiles(join(dir, "limits"));
  progress("control");
  const control = await fillDisk(join(dir, "disk"), careless);
  const findings = [...disk.wrong, ...limits.wrong];
  return {
    values: { full_disk_failures: findings.length, full_disk_control: control.wrong.length },
    facts: {
      acknowledged: disk.acknowledged + limits.acknowledged,
      "refused by a full disk": disk.refused,
      "refused by limits": limits.refused,
    },
    findings,
  };
}

function obstacle(): string | undefined {
  const dir = mkdtempSync(join(tmpdir(), "reverie-mount-"));
  try {
    mountSmallDisk(join(dir, "disk"), 65_536);
    unmountSmallDisk(join(dir, "disk"));
    return undefined;
  } catch {
    return "a tmpfs of 1 MiB can't be mounted: run as root, outside of a container without CAP_SYS_ADMIN, or --skip full-disk";
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
