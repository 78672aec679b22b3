import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createMemoryClient, formatOwner, type MemoryClient } from "@reverie/client";
import { checkout, type ProcessOptions, ServiceProcess } from "../../e2e/support/service-process.js";
import { between, type Random, seededRandom } from "../random.js";
import { CAP_BYTES, type Member, makeCast } from "./cast.js";
import { inspect, naiveRead } from "./inspect.js";

/**
 * - `kill9`: the service on the real file system. The page cache survives.
 * - `power-cut`: a test build whose page cache dies with it; see `volatile-fs.ts`.
 * - `power-cut-unsynced`: the same without fdatasync before the acknowledgement. Must lose.
 * - `late-writer`: a test build that writes 20 ms after it acknowledged. Must lose.
 */
export type Victim = "kill9" | "power-cut" | "power-cut-unsynced" | "late-writer";

export interface KillOptions {
  readonly cycles: number;
  readonly victim: Victim;
  /** An empty directory. */
  readonly dir: string;
  readonly seed: number;
  /** End with the first loss. Default false. */
  readonly untilLoss?: boolean;
}

export interface KillReport {
  kills: number;
  acknowledged: number;
  /** Calls whose outcome a kill left unknown. */
  settled: number;
  tornTails: number;
  corruptLines: number;
  readonly lost: string[];
  readonly resurrected: string[];
  /** The service failed to start, answered wrongly, went back in seq, or left files that differ from its answers. */
  readonly problems: string[];
  durationMs: number;
}

export async function runKills(options: KillOptions): Promise<KillReport> {
  const run = new KillRun(options);
  const started = performance.now();
  for (let i = 0; i < options.cycles; i++) {
    await run.cycle();
    if (options.untilLoss && run.report.lost.length > 0) break;
  }
  if (!options.untilLoss) await run.finish();
  run.report.durationMs = performance.now() - started;
  return run.report;
}

class KillRun {
  readonly report: KillReport = {
    kills: 0,
    acknowledged: 0,
    settled: 0,
    tornTails: 0,
    corruptLines: 0,
    lost: [],
    resurrected: [],
    problems: [],
    durationMs: 0,
  };
  private readonly cast = makeCast();
  private readonly random: Random;
  private readonly base: string;
  private readonly dataDir: string;
  private attached = false;

  constructor(private readonly options: KillOptions) {
    this.random = seededRandom(options.seed);
    this.base = join(options.dir, "base");
    this.dataDir = join(this.base, "data");
    // The lock is a real file, so its directory has to be there.
    mkdirSync(this.dataDir, { recursive: true });
  }

  /** Start, look at everything, load, kill. */
  async cycle(): Promise<void> {
    const { service, clients } = await this.start();
    let stopping = false;
    try {
      await this.look(clients[0]);
      await this.attach(clients[0]);
      const writers = this.cast.flatMap((member) => member.writers);
      const done = writers.map((writer, i) =>
        writer.run({
          client: clients[i % clients.length],
          random: this.random,
          stopping: () => stopping,
          problem: (what) => this.report.problems.push(what),
        }),
      );
      // Some kills fall into the opening of the owners.
      const loadMs = this.random() < 0.2 ? this.random() * 30 : between(this.random, 50, 400);
      await new Promise((resolve) => setTimeout(resolve, loadMs));
      stopping = true;
      await service.end("SIGKILL");
      this.report.kills++;
      await Promise.all(done);
    } finally {
      stopping = true;
      await service.end("SIGKILL");
      for (const client of clients) client.close();
      this.report.acknowledged = this.cast.reduce((sum, { expected }) => sum + expected.acknowledged, 0);
    }
  }

  /** Start, look at everything, stop cleanly, read the files as anybody might. */
  async finish(): Promise<void> {
    const { service, clients } = await this.start();
    try {
      await this.look(clients[0]);
    } finally {
      for (const client of clients) client.close();
      await service.end("SIGTERM");
    }
    const { code, output } = await service.exited;
    if (code !== 0) this.report.problems.push(`SIGTERM ended with ${code}:\n${output}`);
    for (const member of this.cast) this.compareFiles(member);
  }

  private async start(): Promise<{ service: ServiceProcess; clients: MemoryClient[] }> {
    const service = await ServiceProcess.start(this.process());
    const clients = Array.from({ length: 3 }, () =>
      createMemoryClient({ address: service.grpc, retry: { maxAttempts: 1 } }),
    );
    return { service, clients };
  }

  private process(): ProcessOptions {
    const { victim, dir } = this.options;
    const flags = ["--compact-min-bytes", "4096"];
    if (victim === "kill9") return { dataDir: this.dataDir, flags };
    if (victim === "power-cut-unsynced") flags.push("--durability", "none");
    return {
      dataDir: this.dataDir,
      entry: `${checkout}test/torture/victim.ts`,
      flags,
      env: {
        VICTIM_BASE: this.base,
        // What a cut left there is lost.
        VICTIM_LIMBO: join(dir, `limbo-${this.report.kills}`),
        VICTIM_SEED: String(between(this.random, 0, 2 ** 31)),
        ...(victim === "late-writer" && { VICTIM_LATE_MS: "20" }),
      },
    };
  }

  private async look(client: MemoryClient): Promise<void> {
    const { lost, resurrected, problems, settled, corruptLines, tornTails } = await inspect(client, this.cast);
    this.report.lost.push(...lost);
    this.report.resurrected.push(...resurrected);
    this.report.problems.push(...problems);
    this.report.settled += settled;
    this.report.corruptLines = corruptLines;
    this.report.tornTails = tornTails;
  }

  private async attach(client: MemoryClient): Promise<void> {
    for (const { owner, capped } of this.cast) {
      if (!capped) continue;
      const { changed } = await client.attach(owner, { maxEpisodicBytes: CAP_BYTES });
      if (changed && this.attached) this.report.lost.push(`the config of ${formatOwner(owner)}`);
      this.attached = true;
    }
  }

  private compareFiles({ owner, expected }: Member): void {
    const key = (entry: { id: string; kind: string; text: string }): string =>
      `${entry.kind} ${entry.id} ${entry.text}`;
    const inFiles = naiveRead(this.dataDir, owner).map(key).sort();
    const live = [...expected.entries.values()]
      .filter(({ present }) => present)
      .map(({ sent }) => key(sent))
      .sort();
    if (JSON.stringify(inFiles) !== JSON.stringify(live)) {
      this.report.problems.push(
        `a naive reader sees ${inFiles.length} entries of ${formatOwner(owner)}, ${live.length} are live`,
      );
    }
  }
}
