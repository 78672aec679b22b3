// Starts the services from their sources, on loopback, with data under ./.reverie.
// Arguments go to the service, so `npm start -- --log-format text` works.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { join } from "node:path";
import { root, sourceArgs } from "./lib/repo.js";

/** Longer than a service takes to stop by itself. */
const killAfterMs = 15_000;

const services = [{ main: "memory-service/src/main.ts", dataDir: ".reverie/memory" }];

const children = services.map(({ main, dataDir }) =>
  spawn(
    process.execPath,
    [
      ...sourceArgs,
      join(root, main),
      "--data-dir",
      join(root, dataDir),
      "--log-format",
      "text",
      ...process.argv.slice(2),
    ],
    { cwd: root, stdio: ["ignore", "inherit", "inherit"] },
  ),
);

let stopping = false;

/** A terminal's Ctrl-C has reached the services already: they take signals this close together for one. */
function stop(signal: NodeJS.Signals): void {
  for (const child of children) child.kill(signal);
  if (stopping) return;
  stopping = true;
  setTimeout(() => {
    for (const child of children) child.kill("SIGKILL");
  }, killAfterMs).unref();
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop(signal));

const codes = await Promise.all(
  children.map(async (child) => {
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    // One without the others is no service.
    stop("SIGTERM");
    return code ?? 128 + constants.signals[signal ?? "SIGKILL"];
  }),
);
process.exitCode = Math.max(...codes);
