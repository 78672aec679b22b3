import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { ServiceProcess } from "../../e2e/support/service-process.js";
import type { DiskRun } from "./fill-disk.js";
import { Hoarder } from "./hoarder.js";

const LONGEST_FILE_BYTES = 200_000;
const RESUME_MS = 5000;

const hoarder = { kind: "agent", id: "hoarder" } as const;
const other = { kind: "agent", id: "other" } as const;

/** Lowers a real service's limits of file size and of open files, as `ulimit -f` and `ulimit -n` do, and lifts them. */
export async function limitFiles(dataDir: string): Promise<DiskRun> {
  const service = await ServiceProcess.start({ dataDir });
  const client = new Hoarder(service, "x".repeat(3000));
  const limit = (what: string): void => {
    execFileSync("prlimit", ["--pid", String(service.child.pid), what], { stdio: "pipe" });
  };
  try {
    limit(`--fsize=${LONGEST_FILE_BYTES}:`);
    const stored = await client.fill(hoarder);
    if (stored < 30) client.wrong.push(`only ${stored} entries fitted below a limit of ${LONGEST_FILE_BYTES} bytes`);
    if ((await client.remember(other)) !== undefined) client.wrong.push("another owner's small log takes no writes");
    await client.compare("at the largest file size");
    await client.clear(hoarder);
    if (!(await client.findsRoom(hoarder, RESUME_MS))) client.wrong.push("no room in a log that was cleared");
    await client.fill(hoarder);
    limit("--fsize=unlimited:");
    if (!(await client.findsRoom(hoarder, RESUME_MS))) client.wrong.push("no room although the limit is lifted");
    await client.compare("after the limit of file size was lifted");

    const open = readdirSync(`/proc/${service.child.pid}/fd`).length;
    limit(`--nofile=${open}:`);
    const reason = await client.remember({ kind: "agent", id: "one-more" });
    if (reason !== "UNAVAILABLE OVERLOADED") client.wrong.push(`without descriptors: ${reason}, not OVERLOADED`);
    if ((await client.remember(hoarder)) !== undefined)
      client.wrong.push("an open log takes no writes without descriptors");
    limit("--nofile=1024:");
    if (!(await client.findsRoom({ kind: "agent", id: "one-more" }, RESUME_MS)))
      client.wrong.push("a new owner takes no writes although there are descriptors");
    await client.compare("after the limit of descriptors was lifted");
    client.close();
    const { code, signal } = await service.end("SIGTERM");
    if (code !== 0) client.wrong.push(`it stopped with ${code ?? signal}`);
    return { wrong: client.wrong, acknowledged: client.acknowledged, refused: client.refused };
  } finally {
    client.close();
    await service.end("SIGKILL");
  }
}
