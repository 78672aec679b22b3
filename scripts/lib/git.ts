import { execFileSync } from "node:child_process";

// A git hook sets these for its own repository; `cwd` is to decide here.
const located = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"];

/** Runs git in `repo` and gives what it printed. */
export function git(repo: string, ...args: string[]): string {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !located.includes(name)));
  return execFileSync("git", args, { cwd: repo, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}
