import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TOOLS = ["mkfs.ext4", "mkfs.xfs", "xfs_io", "mount", "umount", "setpriv"];
const OTHERWISE = "or --skip power-cuts";

/** Why no power can be cut here, and what to do; undefined when it can. Really mounts something. */
export function obstacle(): string | undefined {
  if (process.platform !== "linux") return `loop mounts need Linux; run it there, ${OTHERWISE}`;
  if (process.getuid?.() !== 0) return `loop mounts need root: run as root, ${OTHERWISE}`;
  const missing = TOOLS.filter((tool) => spawnSync("which", [tool]).status !== 0);
  if (missing.length > 0)
    return `${missing.join(", ")} not found: apt-get install xfsprogs e2fsprogs util-linux, ${OTHERWISE}`;
  return mountsRefused();
}

function mountsRefused(): string | undefined {
  const dir = mkdtempSync(join(tmpdir(), "reverie-loop-"));
  const [image, mountPoint] = [join(dir, "image"), join(dir, "mount")];
  const run = (command: string, ...args: string[]): void =>
    void execFileSync(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  try {
    mkdirSync(mountPoint);
    const fd = openSync(image, "wx");
    ftruncateSync(fd, 16 * 1024 * 1024);
    closeSync(fd);
    run("mkfs.ext4", "-q", "-F", image);
    run("mount", "-o", "loop", image, mountPoint);
    run("umount", mountPoint);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message.trim().split("\n").at(-1) : String(error);
    return `loop mounts are refused here (${why}): run it on a machine or in a privileged container that allows them, ${OTHERWISE}`;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
