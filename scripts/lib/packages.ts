import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./repo.js";

export interface Package {
  readonly name: string;
  /** The path from the root. */
  readonly dir: string;
}

/** The workspaces in the order of package.json, where each stands after those that it depends on. */
export function packages(): Package[] {
  const { workspaces } = readJson(root) as { workspaces: string[] };
  return workspaces.map((dir) => ({ dir, name: (readJson(join(root, dir)) as { name: string }).name }));
}

function readJson(dir: string): unknown {
  return JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
}
