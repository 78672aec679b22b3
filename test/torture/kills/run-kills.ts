import type { MemoryClient } from "@reverie/client";
import { type ProcessOptions, ServiceProcess } from "../../e2e/support/service-process.js";
import { atExit } from "../../lib/at-exit.js";
import { seededRandom } from "../../lib/random.js";
import { Evidence } from "./evidence.js";
import { Load, type LoadReport } from "./load.js";

/** What is ended, and how. */
export interface Rig {
  readonly name: string;
  readonly dataDir: string;
  /** How a life of it starts; the first is 0. */
  process(life: number): ProcessOptions;
  /** Ends it amid its work, and makes all ready for the next start. */
  end(service: ServiceProcess, load: Load): Promise<void>;
}

export interface KillOptions {
  readonly rig: Rig;
  readonly cycles: number;
  /** For what the run itself notes. */
  readonly dir: string;
  readonly seed: number;
  /** End with the first loss. Default false. */
  readonly untilLoss?: boolean;
  /** Where to keep what the first kill that went wrong left. Default nowhere. */
  readonly keep?: string;
  /** After each kill, with their number. */
  readonly onKill?: (kills: number) => void;
}

export interface KillReport extends LoadReport {
  readonly kills: number;
  /** Where the first kill that went wrong left its data; undefined when none did. */
  readonly kept: string | undefined;
}

/** A service that doesn't start again ends the run, as a problem. */
export async function runKills(options: KillOptions): Promise<KillReport> {
  const run = new KillRun(options);
  for (let i = 0; i < options.cycles && run.goesOn; i++) {
    await run.cycle();
    if (options.untilLoss && run.report.lost.length > 0) break;
  }
  if (!options.untilLoss && run.goesOn) await run.finish();
  return run.report;
}

class KillRun {
  goesOn = true;
  private kills = 0;
  private readonly load: Load;
  private readonly evidence: Evidence;

  constructor(private readonly options: KillOptions) {
    this.load = new Load(seededRandom(options.seed));
    this.evidence = new Evidence(options.dir, options.keep);
  }

  get report(): KillReport {
    return { ...this.load.report, kills: this.kills, kept: this.evidence.kept };
  }

  /** Start, look at everything, load, kill. */
  cycle(): Promise<void> {
    return this.live(async (service, clients) => {
      let stopping = false;
      const done = this.load.work(clients, () => stopping);
      await this.load.moment();
      stopping = true;
      await this.options.rig.end(service, this.load);
      await done;
      this.kills++;
      this.options.onKill?.(this.kills);
    });
  }

  /** Start, look at everything, stop cleanly, read the files as anybody might. */
  async finish(): Promise<void> {
    await this.live(async (service) => {
      const { code, output } = await service.end("SIGTERM");
      if (code !== 0) this.load.report.problems.push(`SIGTERM ended with ${code}:\n${output}`);
    });
    this.load.compareFiles(this.options.rig.dataDir);
  }

  /** A life of the service: what the last one left is kept where it doesn't hold what it must. */
  private async live(
    then: (service: ServiceProcess, clients: readonly MemoryClient[]) => Promise<void>,
  ): Promise<void> {
    const { report } = this.load;
    const { rig, seed } = this.options;
    this.evidence.record(rig.dataDir, { run: rig.name, seed, kills: this.kills, owners: this.load });
    let clients: readonly MemoryClient[] = [];
    let service: ServiceProcess | undefined;
    const forget = atExit(() => service?.child.kill("SIGKILL"));
    try {
      service = await ServiceProcess.start(rig.process(this.kills));
      clients = this.load.connect(service.grpc);
      await this.load.look(clients[0]);
    } catch (error) {
      report.problems.push(`after kill ${this.kills}: ${error instanceof Error ? error.message : error}`);
      this.goesOn = false;
    }
    try {
      if (this.load.wrong > 0) this.evidence.keepFor([...report.lost, ...report.resurrected, ...report.problems]);
      if (this.goesOn && service !== undefined) await then(service, clients);
    } finally {
      await service?.end("SIGKILL");
      forget();
      for (const client of clients) client.close();
    }
  }
}
