import { closeSync, existsSync, fstatSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createMemoryClient, type MemoryClient } from "@reverie/client";
import { ServiceProcess } from "../../e2e/support/service-process.js";
import { DYING_WITH_US, type LoopDisk } from "./loop-disk.js";
import { appendNaively, readNaively } from "./naive-appender.js";

/** Of the line in flight, tried in turn until a tail is shown: it must fit into the block that the log ends in. */
const TEXT_BYTES = [200, 60, 20, 700];

export interface NulTailReport {
  /** Cuts that left NULs at the end of the log. */
  shown: number;
  cuts: number;
  acknowledged: number;
  torn: number;
  readonly lost: string[];
  readonly problems: string[];
  /** What an appender that doesn't look at the tail lost of what it had synced. */
  readonly naiveLost: string[];
}

/**
 * Owner A's append is in the page cache when owner B's sync writes the journal, and with it A's new length: after a
 * power cut A's log ends in NULs. Then A's next Remember is acknowledged, and the power goes again: it must be there.
 * A naive appender does the same beside it. XFS writes a file's length after its data, so that one try shows that no
 * tail is left there.
 */
export async function nulTails(disk: LoopDisk, entry: string, tries = TEXT_BYTES.length): Promise<NulTailReport> {
  const report: NulTailReport = { shown: 0, cuts: 0, acknowledged: 0, torn: 0, lost: [], problems: [], naiveLost: [] };
  for (const bytes of TEXT_BYTES.slice(0, tries)) {
    await nulTail(disk, entry, bytes, report);
    if (report.shown > 0) break;
  }
  return report;
}

async function nulTail(disk: LoopDisk, entry: string, bytes: number, report: NulTailReport): Promise<void> {
  const dataDir = join(disk.mountPoint, `nul-tail-${bytes}`);
  const logA = join(dataDir, "agent/a/episodic.jsonl");
  const naive = join(disk.mountPoint, `naive-${bytes}.jsonl`);
  const acknowledged: string[] = [];
  const remember = async (client: MemoryClient, owner: string, id: string): Promise<void> => {
    await client.remember(owner, { kind: "episodic", id, text: `text of ${id}` });
    acknowledged.push(`${owner} ${id}`);
    report.acknowledged++;
  };
  const life = async (work: (client: MemoryClient) => Promise<void>): Promise<void> => {
    const service = await ServiceProcess.start({ dataDir, entry, under: DYING_WITH_US });
    const client = createMemoryClient({ address: service.grpc, retry: { maxAttempts: 1 } });
    try {
      await work(client);
    } finally {
      client.close();
      await service.end("SIGKILL");
    }
  };
  const cut = async (): Promise<void> => {
    await disk.cut();
    report.cuts++;
  };

  await life(async (client) => {
    await remember(client, "agent/a", "first");
    await remember(client, "agent/b", "first");
    appendNaively(naive, "first");
    const line = `${JSON.stringify({ id: "in flight", kind: "episodic", ts: 1, text: "x".repeat(bytes) })}\n`;
    for (const path of [logA, naive]) appendUnsynced(path, line);
    await remember(client, "agent/b", "second");
    await cut();
  });
  await disk.restart();
  const shown = endsInNuls(logA);
  if (shown) report.shown++;

  await life(async (client) => {
    await remember(client, "agent/a", "second");
    appendNaively(naive, "second");
    await cut();
  });
  await disk.restart();

  await life(async (client) => {
    for (const one of acknowledged) {
      const [owner = "", id = ""] = one.split(" ");
      if ((await client.get(owner, id))?.text !== `text of ${id}`)
        report.lost.push(`${one}, behind a tail of ${bytes} bytes`);
    }
    const { entries } = await client.recall("agent/a", { k: 200 });
    for (const { id } of entries)
      if (!["first", "second", "in flight"].includes(id)) report.problems.push(`agent/a holds ${id}`);
  });
  if (existsSync(`${logA}.torn`)) report.torn++;
  else if (shown) report.problems.push("the tail was not kept aside");
  const left = readNaively(naive);
  report.naiveLost.push(...["first", "second"].filter((id) => !left.includes(id)));
}

/** As a batch of the service's that was written and not yet synced. */
function appendUnsynced(path: string, line: string): void {
  const fd = openSync(path, "r+");
  writeSync(fd, line, fstatSync(fd).size);
  closeSync(fd);
}

function endsInNuls(path: string): boolean {
  return readFileSync(path).at(-1) === 0;
}
