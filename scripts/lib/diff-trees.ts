import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** One line for each file that differs between two directories, in path order. */
export function diffTrees(expected: string, actual: string): string[] {
  const wanted = new Set(filesOf(expected));
  const found = new Set(filesOf(actual));
  return [...new Set([...wanted, ...found])].sort().flatMap((path) => {
    if (!found.has(path)) return [`missing: ${path}`];
    if (!wanted.has(path)) return [`left over: ${path}`];
    return readFileSync(join(expected, path)).equals(readFileSync(join(actual, path))) ? [] : [`stale: ${path}`];
  });
}

function filesOf(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(dir, path)).isFile())
    .map((path) => relative(dir, join(dir, path)));
}
