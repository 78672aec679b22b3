import { constants } from "node:buffer";
import { spawnSync } from "node:child_process";
import { accessSync, constants as modes, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The path of `rg`, if it is on the PATH. */
export function findRipgrep(): string | undefined {
  const dirs = (process.env.PATH ?? "").split(delimiter).filter((dir) => dir !== "");
  return dirs.map((dir) => join(dir, "rg")).find(isProgram);
}

/**
 * The lines of a JSONL file that hold the needle, in the file's order, as a user greps them: whatever member it is in.
 * At most 512 MiB of them.
 */
export function ripgrep(bin: string, path: string, needle: string): string[] {
  // As it stands in JSON: a quote has a backslash.
  const written = JSON.stringify(needle).slice(1, -1);
  const flags = ["--no-config", "--fixed-strings", "--ignore-case", "--no-line-number", "--color=never"];
  const { error, status, stdout, stderr } = spawnSync(bin, [...flags, "-e", written, "--", path], {
    encoding: "utf8",
    maxBuffer: constants.MAX_STRING_LENGTH,
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (error !== undefined) throw new Error(`Can't search with ${bin}: ${error.message}`);
  if (status === 1) return [];
  if (status !== 0) throw new Error(`${bin} ended with ${status}: ${stderr.trim()}`);
  return stdout.slice(0, -1).split("\n");
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, modes.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
