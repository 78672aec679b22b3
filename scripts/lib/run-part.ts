import { spawn } from "node:child_process";
import { once } from "node:events";
import { root, toolEnv } from "./repo.js";

export interface Part {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly env?: NodeJS.ProcessEnv;
  /** Show the output while it comes instead of only after a failure. */
  readonly live?: boolean;
}

/** Runs one part and prints a line about it; after a failure its whole output first. */
export async function runPart({ name, command, env, live = false }: Part): Promise<boolean> {
  const started = performance.now();
  const [file, ...args] = command;
  const child = spawn(file, args, {
    cwd: root,
    env: { ...toolEnv, ...env },
    stdio: live ? ["ignore", "inherit", "inherit"] : ["ignore", "pipe", "pipe"],
  });
  const output: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => output.push(chunk));
  let result: string;
  try {
    const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    result = code === 0 ? "ok" : `exit ${code ?? signal}`;
  } catch (error) {
    result = error instanceof Error ? error.message : String(error);
  }
  const ok = result === "ok";
  const text = Buffer.concat(output).toString();
  if (!ok && text !== "") process.stdout.write(`\n--- ${name}: ${command.join(" ")}\n${text.trimEnd()}\n---\n`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `${ok ? "ok  " : "FAIL"}  ${name.padEnd(18)} ${seconds.padStart(6)} s${ok ? lastNote(text) : `  ${result}`}\n`,
  );
  return ok;
}

/** A part that passes with a reservation says so in a line that starts with `note:`. */
function lastNote(text: string): string {
  const note = text.split("\n").findLast((line) => line.startsWith("note:"));
  return note === undefined ? "" : `  ${note}`;
}
