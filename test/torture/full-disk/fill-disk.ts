import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceProcess } from "../../e2e/support/service-process.js";
import { Hoarder } from "./hoarder.js";
import { mountSmallDisk, unmountSmallDisk } from "./small-disk.js";

const MIB = 1024 * 1024;
const BALLAST_BYTES = 200_000;
const RESUME_MS = 5000;

const hoarder = { kind: "agent", id: "hoarder" } as const;
const other = { kind: "agent", id: "other" } as const;
const trashed = { kind: "user", id: "trashed" } as const;

export interface DiskRun {
  readonly wrong: readonly string[];
  readonly acknowledged: number;
  readonly refused: number;
}

/** Fills a tmpfs of 1 MiB through a real service, makes room, fills it again, and kills the service on it. `path` is made and removed. */
export async function fillDisk(path: string, entry?: string): Promise<DiskRun> {
  mountSmallDisk(path, MIB);
  let service: ServiceProcess | undefined;
  try {
    const dataDir = join(path, "data");
    const ballast = join(path, "ballast");
    writeFileSync(ballast, Buffer.alloc(BALLAST_BYTES));
    service = await ServiceProcess.start({ dataDir, ...(entry !== undefined && { entry }) });
    const client = new Hoarder(service, "x".repeat(3000));
    await client.remember(trashed);
    for (let i = 0; i < 5; i++) await client.remember(other);
    const refId = await client.softDelete(trashed);

    await client.fill(hoarder);
    await client.compare("on a full disk");
    // To the last page, so that nothing goes on beside the reserve.
    const { bavail, bsize } = statfsSync(path);
    writeFileSync(join(path, "rest"), Buffer.alloc(bavail * bsize));
    await client.forget(hoarder, 20);
    await client.hardDelete(trashed, refId);
    await client.clear(other);
    await client.compare("after forgetting, clearing and deleting on a full disk");

    rmSync(ballast);
    if (!(await client.findsRoom(hoarder, RESUME_MS))) client.wrong.push("no write finds room although there is space");
    rmSync(join(path, "rest"));
    await client.compare("after space came back");

    await client.fill(hoarder);
    await service.end("SIGKILL");
    service = await startAgain(dataDir, entry, client);
    if (service !== undefined) {
      client.moveTo(service);
      await client.compare("after a kill and a start on a full disk");
      await client.forget(hoarder, 3);
      await client.compare("after forgetting on it");
      const { code, signal } = await service.end("SIGTERM");
      if (code !== 0) client.wrong.push(`it stopped with ${code ?? signal}`);
    }
    client.close();
    return { wrong: client.wrong, acknowledged: client.acknowledged, refused: client.refused };
  } finally {
    await service?.end("SIGKILL");
    unmountSmallDisk(path);
  }
}

async function startAgain(
  dataDir: string,
  entry: string | undefined,
  client: Hoarder,
): Promise<ServiceProcess | undefined> {
  try {
    return await ServiceProcess.start({ dataDir, ...(entry !== undefined && { entry }) });
  } catch (error) {
    client.wrong.push(`it doesn't start on a full disk: ${error}`);
    return undefined;
  }
}
