import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const EIO = 5;

/** A call of the C library that libfiu makes fail. */
export type SyncCall = "fdatasync" | "fsync";

/** libfiu, preloaded into a process: its calls of the C library fail when told to, from outside. */
export class Fiu {
  /** What a process needs in its environment. */
  readonly env: Readonly<Record<string, string>>;
  private readonly prefix: string;

  /** `dir`: an empty directory for the pipes of its remote control. */
  constructor(dir: string) {
    mkdirSync(dir, { recursive: true });
    this.prefix = join(dir, "fiu");
    const libraries = librariesOf(findTool("fiu-run") ?? "");
    this.env = {
      LD_PRELOAD: `${libraries}/fiu_run_preload.so ${libraries}/fiu_posix_preload.so`,
      FIU_CTRL_FIFO: this.prefix,
    };
  }

  /** From now on every such call of the process fails with EIO; or only the next one. */
  async fail(pid: number, call: SyncCall, how: "once" | "always"): Promise<void> {
    await this.control(
      pid,
      `enable name=posix/io/sync/${call},failnum=1,failinfo=${EIO}${how === "once" ? ",onetime" : ""}`,
    );
  }

  async heal(pid: number, call: SyncCall): Promise<void> {
    await this.control(pid, `disable name=posix/io/sync/${call}`);
  }

  private async control(pid: number, command: string): Promise<void> {
    const { stdout } = await promisify(execFile)("fiu-ctrl", ["-f", this.prefix, "-c", command, String(pid)], {
      timeout: 10_000,
    });
    // It says nothing when all is well, and ends with 0 in any case.
    if (stdout.trim() !== "") throw new Error(`fiu-ctrl ${command}: ${stdout.trim()}`);
  }
}

/** Why libfiu can't be used here, and what to do; undefined when it can. */
export function fiuObstacle(): string | undefined {
  for (const tool of ["fiu-run", "fiu-ctrl"]) {
    if (findTool(tool) === undefined) return `needs libfiu's ${tool}: apt-get install fiu-utils, or --skip sync-error`;
  }
  return undefined;
}

/** Where `fiu-run` takes the preloaded libraries from. */
function librariesOf(tool: string): string {
  return /^PLIBPATH="(.*)"$/m.exec(readFileSync(tool, "utf8"))?.[1] ?? "/usr/lib/fiu";
}

function findTool(name: string): string | undefined {
  for (const dir of (process.env.PATH ?? "").split(delimiter)) {
    try {
      execFileSync("test", ["-x", join(dir, name)]);
      return join(dir, name);
    } catch {
      // Elsewhere, perhaps.
    }
  }
  return undefined;
}
