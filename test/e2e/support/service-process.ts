import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The checkout's root, with a trailing slash. */
export const checkout = fileURLToPath(new URL("../../../", import.meta.url));

export const mainEntry = `${checkout}memory-service/src/main.ts`;

/** How long a start may take on a busy machine, milliseconds. */
const STARTUP_MS = 30_000;

export interface ProcessOptions {
  readonly dataDir: string;
  /** Default the service's own `main.ts`. What ends in `.js` runs without tsx, which starts sooner. */
  readonly entry?: string;
  /** A command that it is run with, such as `["unshare", "-n"]`, which becomes the service itself. Default none. */
  readonly under?: readonly string[];
  /** More flags. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Also open the Connect and HTTP listener. Default false. */
  readonly http?: boolean;
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it wrote to stdout and stderr, at most the last 64 KiB. */
  readonly output: string;
}

/** A memory-service in a process of its own, on free ports. */
export class ServiceProcess {
  grpc = "";
  http = "";
  readonly exited: Promise<Exit>;
  /** Resolves when it says where it listens; never, when it ends before. */
  readonly listening: Promise<void>;
  private output = "";
  private heard = (): void => {};

  private constructor(readonly child: ChildProcess) {
    this.listening = new Promise((resolve) => {
      this.heard = resolve;
    });
    const lines = createInterface({ input: child.stdout! });
    lines.on("line", (line) => this.keep(`${line}\n`));
    child.stderr!.on("data", (chunk: Buffer) => this.keep(chunk.toString()));
    this.exited = once(child, "close").then(([code, signal]) => ({ code, signal, output: this.output }));
  }

  /** Spawns it without waiting for anything. */
  static spawn(options: ProcessOptions): ServiceProcess {
    const { dataDir, entry = mainEntry, under = [], flags = [], env = {}, http = false } = options;
    const inherited = Object.entries(process.env).filter(([name]) => !/^(REVERIE|VITEST|NODE_OPTIONS)/.test(name));
    const sources = entry.endsWith(".js") ? [] : ["--conditions=@reverie/source", "--import", "tsx"];
    const args = [...sources, entry, "--data-dir", dataDir];
    args.push("--grpc-address", "127.0.0.1:0", "--http-address", http ? "127.0.0.1:0" : "off", "--log-level", "warn");
    const [command = "", ...rest] = [...under, process.execPath, ...args, ...flags];
    const child = spawn(command, rest, {
      cwd: checkout,
      env: { ...Object.fromEntries(inherited), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    return new ServiceProcess(child);
  }

  /** Spawns it and waits until it listens. Throws with its output when it ends before. */
  static async start(options: ProcessOptions): Promise<ServiceProcess> {
    const service = ServiceProcess.spawn(options);
    const timer = setTimeout(() => service.child.kill("SIGKILL"), STARTUP_MS);
    const exit = await Promise.race([service.listening, service.exited]);
    clearTimeout(timer);
    if (exit !== undefined) throw new Error(`the service did not start (${exit.code ?? exit.signal}):\n${exit.output}`);
    return service;
  }

  /** Sends the signal and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<Exit> {
    this.child.kill(signal);
    return this.exited;
  }

  private keep(text: string): void {
    this.output = (this.output + text).slice(-65_536);
    this.grpc ||= /gRPC on (\S+?)[,\s]/.exec(this.output)?.[1] ?? "";
    this.http ||= /Connect and HTTP on (\S+?)[,\s]/.exec(this.output)?.[1] ?? "";
    if (this.grpc !== "") this.heard();
  }
}
