import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll } from "vitest";

/** The checkout's root, with a trailing slash. */
export const checkout = fileURLToPath(new URL("../../../../", import.meta.url));

/** The command in one file: it starts three times as fast as from its sources, and is the same code. */
async function bundle(): Promise<string> {
  const dir = join(checkout, `node_modules/.cache/reverie-cli-test-${process.pid}`);
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  await build({
    entryPoints: { main: join(checkout, "clients/cli/src/main.ts") },
    outdir: dir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@reverie/source"],
    // From its sources come our packages only.
    external: [
      "@bufbuild/*",
      "@connectrpc/*",
      "@grpc/*",
      "commander",
      "fs-native-extensions",
      "pino",
      "prom-client",
      "zod",
    ],
    define: { "import.meta.url": JSON.stringify(pathToFileURL(join(checkout, "clients/cli/src/main.ts")).href) },
  });
  return join(dir, "main.mjs");
}

export const cliCommand: readonly string[] = [process.execPath, await bundle()];

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What goes to stdin, which ends then; undefined: nothing does, and it is at its end. */
  readonly input?: string | Uint8Array;
}

/** The environment without what would change the command's ways. */
export function cleanEnv(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(REVERIE|VITEST|NODE_OPTIONS|NO_COLOR|FORCE_COLOR|CI$|TERM$|COLUMNS)/.test(name),
  );
  return { ...(Object.fromEntries(inherited) as Record<string, string>), TERM: "xterm-256color", ...more };
}

/** The command as a process of its own, with pipes. */
export function start(args: readonly string[], { env = {} }: RunOptions = {}): ChildProcess {
  const [node = "", ...rest] = [...cliCommand, ...args];
  return spawn(node, rest, { cwd: checkout, env: cleanEnv(env), stdio: "pipe" });
}

export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = start(args, options);
  // It may end without reading all.
  child.stdin!.on("error", () => {});
  child.stdin!.end(options.input ?? "");
  return ended(child);
}

export async function ended(child: ChildProcess): Promise<Ran> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => err.push(chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
}

/** A shell command on a pseudo-terminal of so many columns; what it wrote, as the terminal got it, is `stdout`. */
export async function runOnTerminal(command: string, columns: number, options: RunOptions = {}): Promise<Ran> {
  const line = `stty cols ${columns} rows 50 -echo; ${command}`;
  const child = spawn("script", ["-qec", line, "/dev/null"], {
    cwd: checkout,
    env: cleanEnv(options.env),
    stdio: "pipe",
  });
  const done = ended(child);
  if (options.input !== undefined) child.stdin.write(options.input);
  const ran = await done;
  return { ...ran, stdout: ran.stdout.replaceAll("\r\n", "\n") };
}

/** The command line as a shell takes it. */
export function shellLine(args: readonly string[]): string {
  return [...cliCommand, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}

export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
