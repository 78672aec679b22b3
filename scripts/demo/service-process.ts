import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { root, sourceArgs } from "../lib/repo.js";
import { DemoError } from "./check.js";

const startMs = 20_000;
/** A stop takes 10 s at most. */
const stopMs = 12_000;

const greeting = /^reverie-memory (\S+): gRPC on (\S+), Connect and HTTP on (\S+), data in .*$/;

export interface ServiceProcess {
  readonly version: string;
  /** `host:port`. */
  readonly grpc: string;
  /** `host:port`. */
  readonly http: string;
  readonly pid: number;
  /** What the process logged. */
  readonly log: () => string;
  /** Sends SIGTERM and waits. Returns the exit code, or the signal that ended it. */
  stop(): Promise<number | NodeJS.Signals | null>;
  /** At once, without a word. */
  kill(): void;
}

/** Starts memory-service as an operator would, on free ports of this machine, and waits until it serves. */
export async function startService(dataDir: string): Promise<ServiceProcess> {
  const flags = ["--data-dir", dataDir, "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0"];
  const child = spawn(
    process.execPath,
    [...sourceArgs, "memory-service/src/main.ts", ...flags, "--log-format", "text"],
    { cwd: root, env: withoutSettings(), stdio: ["ignore", "pipe", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  const kill = (): void => void child.kill("SIGKILL");
  // It doesn't outlive this process, and is gone before what else is cleaned up.
  process.prependListener("exit", kill);
  const ended = once(child, "exit").then(([code, signal]) => {
    process.off("exit", kill);
    return (code ?? signal) as number | NodeJS.Signals | null;
  });
  const timer = setTimeout(kill, startMs);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const match = greeting.exec(line);
      if (match === null) continue;
      const [, version = "", grpc = "", http = ""] = match;
      child.stdout.resume();
      const stop = async () => {
        const late = setTimeout(kill, stopMs);
        child.kill("SIGTERM");
        const result = await ended;
        clearTimeout(late);
        return result;
      };
      return { version, grpc, http, pid: child.pid ?? 0, log: () => log, stop, kill };
    }
  } finally {
    clearTimeout(timer);
  }
  throw new DemoError(`the service didn't start (exit ${await ended}):\n${log.trim()}`);
}

/** The environment without settings of another Reverie: the demo's own is what the flags say. */
function withoutSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("REVERIE_")));
}
