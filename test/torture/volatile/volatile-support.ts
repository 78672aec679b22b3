import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Fs, O_DIRECTORY, O_RDONLY } from "../../../memory-service/src/store/jsonl/fs.js";
import { type VolatileFs, type VolatileFsOptions, volatileFs } from "./volatile-fs.js";

export function setUp(options: Partial<VolatileFsOptions> = {}) {
  const dir = mkdtempSync(join(tmpdir(), "reverie-volatile-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const base = join(dir, "base");
  mkdirSync(base);
  const make = (): VolatileFs => volatileFs({ base, limbo: join(dir, "limbo"), ...options });
  return { base, fs: make(), afterPowerCut: make };
}

export async function syncDirectory(fs: Fs, path: string): Promise<void> {
  const fd = await fs.open(path, O_RDONLY | O_DIRECTORY, 0);
  await fs.fsync(fd);
  await fs.close(fd);
}

/** Paths below, directories with a slash, files with their content. */
export function tree(base: string, prefix = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { name } of readdirSync(join(base, prefix), { withFileTypes: true })) {
    const path = prefix + name;
    if (!statSync(join(base, path)).isDirectory()) found[path] = readFileSync(join(base, path), "utf8");
    else Object.assign(found, { [`${path}/`]: "" }, tree(base, `${path}/`));
  }
  return found;
}

export async function visible(fs: Fs, base: string, prefix = ""): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await fs.readdir(prefix === "" ? base : join(base, prefix))) {
    const path = prefix + entry.name;
    if (entry.isFile()) found[path] = (await fs.readFile(join(base, path))).toString();
    else Object.assign(found, { [`${path}/`]: "" }, await visible(fs, base, `${path}/`));
  }
  return found;
}
