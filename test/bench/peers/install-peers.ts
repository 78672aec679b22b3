import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const dir = fileURLToPath(new URL(".", import.meta.url));
/** Says for which lock file and Node the folder was filled; written last. */
const stampPath = join(dir, "node_modules/.installed-for");
const peers = createRequire(join(dir, "package.json"));

/** Takes what is in this folder's node_modules, which neither the compiler nor the root's lock file knows. */
export function requirePeer<T>(name: string): T {
  return peers(name) as T;
}

/** The file behind a name, to be run as a program. */
export function resolvePeer(name: string): string {
  return peers.resolve(name);
}

/** Fills node_modules with what the lock file names, unless it is there for this Node. */
export function installPeers(): void {
  const stamp = expectedStamp();
  if (existsSync(stampPath) && readFileSync(stampPath, "utf8") === stamp) return;
  console.log("installing the peers, once: SQLite is compiled where it can't be downloaded, about a minute");
  const headers = headersDir();
  const { error, status } = spawnSync("npm", ["ci", "--ignore-scripts=false", "--no-audit", "--no-fund"], {
    cwd: dir,
    stdio: ["ignore", "inherit", "inherit"],
    env: {
      ...process.env,
      // npm's own `env node` has to be this Node, or the addon is built for another one.
      PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
      ...(headers && { npm_config_nodedir: headers }),
    },
  });
  if (error !== undefined) throw new Error(`Can't run npm: ${error.message}. Put npm on the PATH.`);
  if (status !== 0) throw new Error(`npm ci failed in test/bench/peers. ${nextStep(headers)}`);
  tryAddon();
  writeFileSync(stampPath, stamp);
}

/** The addon fits one version of Node's binary interface, on one platform. */
function expectedStamp(): string {
  const lock = createHash("sha256")
    .update(readFileSync(join(dir, "package-lock.json")))
    .digest("hex");
  return `${lock} ${process.platform}-${process.arch} ${process.versions.modules}\n`;
}

/** Where `include/node` is for this Node, so that node-gyp need not download it. */
function headersDir(): string | undefined {
  const prefix = resolve(dirname(process.execPath), "..");
  const header = join(prefix, "include/node/node_version.h");
  if (!existsSync(header)) return undefined;
  const major = /#define NODE_MAJOR_VERSION (\d+)/.exec(readFileSync(header, "utf8"))?.[1];
  return major === process.versions.node.split(".")[0] ? prefix : undefined;
}

/** For where better-sqlite3's compiled addon can't be downloaded from GitHub. */
function nextStep(headers: string | undefined): string {
  const missing = ["python3", "make", "g++"].filter((tool) => spawnSync(tool, ["--version"]).error !== undefined);
  const steps = ["npm's output above says why."];
  if (missing.length > 0) steps.push(`Compiling SQLite needs: apt-get install -y ${missing.join(" ")}.`);
  if (headers === undefined && process.env.npm_config_nodedir === undefined)
    steps.push(
      "It needs Node's headers too, from nodejs.org or from disk: take a Node that has include/node beside its bin, " +
        "or set npm_config_nodedir to a directory that holds include/node of this version.",
    );
  return steps.join(" ");
}

function tryAddon(): void {
  try {
    const Database = requirePeer<new (path: string) => { close(): void }>("better-sqlite3");
    new Database(":memory:").close();
  } catch (error) {
    throw new Error("better-sqlite3 was installed but doesn't load. Try `npm rebuild` in test/bench/peers.", {
      cause: error,
    });
  }
}
