import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { atExit } from "../../lib/at-exit.js";

export const FILE_SYSTEMS = ["ext4", "xfs"] as const;
export type FileSystem = (typeof FILE_SYSTEMS)[number];

/** A process that outlives this one would keep its file system mounted. */
export const DYING_WITH_US: readonly string[] = ["setpriv", "--pdeathsig", "KILL"];

/** mkfs.xfs makes no smaller ones. The image is sparse. */
const IMAGE_BYTES = 320 * 1024 * 1024;
/** A process that was killed may hold its files a moment longer, milliseconds. */
const BUSY_WAIT_MS = 50;
const BUSY_WAITS = 100;

/** A file system of its own in an image file, whose power can be cut. Needs root, Linux, e2fsprogs and xfsprogs. */
export class LoopDisk {
  private mounted = false;
  /** Started beforehand, so that it cuts at once when it is told to. */
  private cutter: { readonly child: ChildProcess; readonly ended: Promise<unknown> } | undefined;
  private readonly forget: () => void;

  private constructor(
    private readonly image: string,
    readonly mountPoint: string,
  ) {
    this.forget = atExit(() => this.release());
  }

  /** Makes and mounts it, in an existing directory. */
  static make(dir: string, fileSystem: FileSystem): LoopDisk {
    const image = join(dir, `${fileSystem}.image`);
    const fd = openSync(image, "wx");
    ftruncateSync(fd, IMAGE_BYTES);
    closeSync(fd);
    run(`mkfs.${fileSystem}`, fileSystem === "ext4" ? ["-q", "-F", image] : ["-q", "-f", image]);
    const mountPoint = join(dir, fileSystem);
    mkdirSync(mountPoint);
    const disk = new LoopDisk(image, mountPoint);
    disk.mount();
    return disk;
  }

  /** After a cut, replays the journal. */
  mount(): void {
    run("mount", ["-o", "loop", this.image, this.mountPoint]);
    this.mounted = true;
    const child = spawn("xfs_io", ["-x", this.mountPoint], { stdio: ["pipe", "ignore", "ignore"] });
    // One that is gone already is noticed by what it left undone.
    child.stdin?.on("error", () => {});
    this.cutter = { child, ended: once(child, "exit") };
  }

  /**
   * The power goes. The journal isn't flushed, and nothing more reaches the image: each later write and sync fails.
   * Resolves when that is so.
   */
  async cut(): Promise<void> {
    await this.tellCutter("shutdown\n");
    try {
      writeFileSync(join(this.mountPoint, "after-the-cut"), "");
    } catch {
      return;
    }
    throw new Error(`xfs_io's shutdown had no effect on ${this.mountPoint}: it can still be written to`);
  }

  /** Throws when somebody goes on using it. Its loop device goes with it. */
  async unmount(): Promise<void> {
    await this.tellCutter("");
    for (let waits = 0; this.mounted; waits++) {
      try {
        run("umount", [this.mountPoint]);
        this.mounted = false;
      } catch (error) {
        if (waits >= BUSY_WAITS) throw error;
        await delay(BUSY_WAIT_MS);
      }
    }
  }

  /** Unmounted, off and on again. Whoever uses it must be gone. */
  async restart(): Promise<void> {
    await this.unmount();
    this.mount();
  }

  /** Gone, with all that it holds. */
  async remove(): Promise<void> {
    await this.unmount().catch(() => this.release());
    this.forget();
    rmSync(this.image, { force: true });
  }

  private async tellCutter(command: string): Promise<void> {
    const { cutter } = this;
    this.cutter = undefined;
    cutter?.child.stdin?.end(command);
    await cutter?.ended;
  }

  private release(): void {
    this.cutter?.child.kill("SIGKILL");
    if (this.mounted) run("umount", ["-l", this.mountPoint]);
    this.mounted = false;
  }
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { stdio: ["ignore", "ignore", "pipe"] });
}
