// Builds and packs every package, installs the tarballs into an empty project as
// a stranger would, and uses them there: types, imports and command lines, on
// plain Node without this repository's conditions, overrides or loader.
import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withMemoryService } from "./lib/memory-service.js";
import { packages } from "./lib/packages.js";
import { root, sourceArgs, toolEnv, withTempDir } from "./lib/repo.js";

const consumer = `
import { createMemoryClient } from "@reverie/client";
import { version } from "@reverie/memory-service";
import { Kind, OwnerKind } from "@reverie/proto/memory";

const client = createMemoryClient({ address: process.argv[2]! });
const owner = { kind: OwnerKind.AGENT, id: "pack" };
const info = await client.info.getServerInfo({});
if (info.version !== version) throw new Error(\`the service says \${info.version}, its package \${version}\`);
await client.memory.remember({ owner, entry: { kind: Kind.SEMANTIC, text: "from a tarball", id: "one" } });
const { entry } = await client.memory.getEntry({ owner, id: "one" });
if (entry?.text !== "from a tarball") throw new Error("the entry didn't come back");
await client.close();
`;

const tsconfig = {
  compilerOptions: {
    target: "ES2023",
    module: "NodeNext",
    strict: true,
    outDir: "out",
    skipLibCheck: true,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
  },
  files: ["consumer.ts"],
};

await withTempDir("pack", async (dir) => {
  const run = (cwd: string, file: string, ...args: string[]): string => {
    // npm hands scripts the place that it works in; here that is another.
    const env = Object.fromEntries(
      Object.entries(toolEnv).filter(([name]) => !/^npm_config_(local_prefix|workspace)/.test(name)),
    );
    const { status, stdout, error } = spawnSync(file, args, {
      cwd,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (status === 0) return stdout;
    process.stderr.write(stdout ?? "");
    throw error ?? new Error(`${[file, ...args].join(" ")}: exit ${status}`);
  };
  run(root, process.execPath, ...sourceArgs, "scripts/build.ts");
  run(root, "npm", "pack", "--silent", "--pack-destination", dir, ...packages().map(({ dir }) => `--workspace=${dir}`));
  const tarballs = readdirSync(dir).filter((name) => name.endsWith(".tgz"));
  for (const name of tarballs) {
    const unwanted = run(dir, "tar", "-tf", name)
      .split("\n")
      .filter((path) => /(?<!\.d)\.ts$|\/test\/|tsbuildinfo$/.test(path));
    if (unwanted.length > 0) throw new Error(`${name} holds ${unwanted.join(", ")}`);
  }

  writeFileSync(join(dir, "package.json"), `{ "private": true, "type": "module" }\n`);
  writeFileSync(join(dir, "consumer.ts"), consumer);
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(tsconfig));
  run(
    dir,
    "npm",
    "install",
    "--engine-strict",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    ...tarballs.map((name) => `./${name}`),
  );
  run(dir, "tsc", "--project", "tsconfig.json");
  await withMemoryService([join(dir, "node_modules/.bin/reverie-memory")], dir, async ({ grpcPort }) => {
    const address = `127.0.0.1:${grpcPort}`;
    run(dir, process.execPath, "out/consumer.js", address);
    const line = run(dir, join(dir, "node_modules/.bin/reverie"), "get", "agent/pack", "one", "--address", address);
    if ((JSON.parse(line) as { text?: unknown }).text !== "from a tarball") throw new Error(`reverie get said ${line}`);
  });

  const tree = JSON.parse(run(dir, "npm", "ls", "--json", "--all", "@bufbuild/protobuf")) as Tree;
  const versions = [...new Set(versionsOf(tree, "@bufbuild/protobuf"))];
  if (versions.length !== 1) throw new Error(`a consumer gets several @bufbuild/protobuf: ${versions.join(", ")}`);
  console.log(`note: ${tarballs.length} packages, @bufbuild/protobuf ${versions[0]}`);
});

interface Tree {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, Tree>>;
}

function versionsOf(tree: Tree, name: string): string[] {
  return Object.entries(tree.dependencies ?? {}).flatMap(([key, child]) => [
    ...(key === name && child.version !== undefined ? [child.version] : []),
    ...versionsOf(child, name),
  ]);
}
