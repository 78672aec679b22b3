import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout's root, with a trailing slash. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** What a child needs so that it finds the tools of `node_modules/.bin` however the script was started. */
export const toolEnv: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: [join(root, "node_modules/.bin"), process.env.PATH].join(delimiter),
};

/** How a TypeScript program of this repository runs without a build. */
export const sourceArgs = ["--conditions=@reverie/source", "--import", "tsx"] as const;

/** Runs `use` with a new empty directory and removes it afterwards. */
export async function withTempDir<T>(name: string, use: (dir: string) => T | Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), `reverie-${name}-`));
  try {
    return await use(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
