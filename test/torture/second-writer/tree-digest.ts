import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Changes with any name or byte below a directory. */
export function treeDigest(dir: string): string {
  const hash = createHash("sha256");
  const files = readdirSync(dir, { recursive: true, withFileTypes: true })
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isFile: entry.isFile() }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const { path, isFile } of files) {
    hash.update(`${path}\0`);
    if (isFile) hash.update(readFileSync(path));
  }
  return hash.digest("hex");
}
