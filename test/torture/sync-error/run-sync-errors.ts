import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createMemoryClient, type MemoryClient, toProtoOwner } from "@reverie/client";
import { checkout, ServiceProcess } from "../../e2e/support/service-process.js";
import { pick, type Random, seededRandom } from "../../lib/random.js";
import { Fiu } from "./fiu.js";
import { askHealth, type SaidHealth } from "./health.js";
import { CHANGES, SyncOwner } from "./sync-owner.js";

export interface SyncErrorOptions {
  /** In each, one sync of one owner fails. */
  readonly rounds: number;
  /** An empty directory. */
  readonly dir: string;
  readonly seed: number;
  /** A test build that acknowledges nevertheless: what it does wrong must be found. Default false. */
  readonly swallowing?: boolean;
  readonly progress?: (text: string) => void;
}

export interface SyncErrorReport {
  rounds: number;
  /** Of the owner whose syncs fail. */
  acknowledged: number;
  refused: number;
  /** Of the other owners, while that one was stopped. */
  othersAcknowledged: number;
  /** From the end of the trouble until it takes writes again, milliseconds. */
  longestHealMs: number;
  /** Failures that the test build swallowed. */
  swallowed: number;
  readonly findings: string[];
}

/** How long health may take to tell, and a healed owner to take writes again, milliseconds. */
const PATIENCE_MS = 20_000;
const WHILE_STOPPED = 10;

export async function runSyncErrors(options: SyncErrorOptions): Promise<SyncErrorReport> {
  const run = new SyncErrorRun(options);
  try {
    await run.start();
    for (let i = 0; i < options.rounds; i++) {
      await run.round();
      options.progress?.(`${i + 1} of ${options.rounds} failed syncs`);
    }
    return run.report;
  } finally {
    await run.stop();
  }
}

class SyncErrorRun {
  readonly report: SyncErrorReport = {
    rounds: 0,
    acknowledged: 0,
    refused: 0,
    othersAcknowledged: 0,
    longestHealMs: 0,
    swallowed: 0,
    findings: [],
  };
  private readonly hurt = new SyncOwner({ kind: "agent", id: "hurt" });
  private readonly others = ["b", "c"].map((id) => new SyncOwner({ kind: "user", id }));
  private readonly random: Random;
  private readonly fiu: Fiu;
  private service!: ServiceProcess;
  private client!: MemoryClient;
  private second!: MemoryClient;

  constructor(private readonly options: SyncErrorOptions) {
    this.random = seededRandom(options.seed);
    this.fiu = new Fiu(join(options.dir, "fiu"));
    mkdirSync(this.dataDir);
  }

  private get dataDir(): string {
    return join(this.options.dir, "data");
  }

  async start(): Promise<void> {
    const { swallowing } = this.options;
    this.service = await ServiceProcess.start({
      dataDir: this.dataDir,
      http: true,
      env: this.fiu.env,
      // Nobody compacts: a compaction's fsync would fail as well, and say nothing of the owner's state.
      flags: ["--compact-min-bytes", "1000000000"],
      ...(swallowing && { entry: `${checkout}test/torture/sync-error/swallowing-victim.ts` }),
    });
    const connect = (): MemoryClient => createMemoryClient({ address: this.service.grpc, retry: { maxAttempts: 1 } });
    this.client = connect();
    this.second = connect();
  }

  async stop(): Promise<void> {
    this.client?.close();
    this.second?.close();
    const exit = await this.service?.end("SIGKILL");
    this.report.swallowed += exit?.output.match(/^swallowed .*EIO/gm)?.length ?? 0;
  }

  async round(): Promise<void> {
    this.report.rounds++;
    await this.warmUp();
    const change = pick(this.random, CHANGES);
    await this.inject("fsync", "always");
    await this.inject("fdatasync", "once");
    const reason = await this.hurt.change(this.client, change);
    if (reason !== "LOG_STOPPED") this.find(`${change}: acknowledged or refused with ${reason} when its sync failed`);
    await this.whileStopped(change);
    if (this.random() < 0.5) await this.heal(change);
    await this.restart();
    for (const difference of await this.hurt.differences(this.client)) this.find(`${change}, killed: ${difference}`);
    for (const other of this.others) {
      for (const difference of await other.differences(this.client)) this.find(`another owner: ${difference}`);
    }
    this.report.acknowledged = this.hurt.acknowledged;
    this.report.refused = this.hurt.refused;
  }

  /** Opens every log, so that nobody needs a sync of a directory later. */
  private async warmUp(): Promise<void> {
    for (const owner of [this.hurt, ...this.others]) {
      for (const change of ["both", "remember", "remember", "patch"] as const) {
        const reason = await owner.change(this.client, change);
        if (reason !== undefined) this.find(`${reason} where nothing was wrong`);
      }
    }
  }

  private async whileStopped(change: string): Promise<void> {
    let going = true;
    const othersWrite = Promise.all(
      this.others.map(async (owner) => {
        while (going) {
          const reason = await owner.change(this.second, pick(this.random, CHANGES));
          if (reason === undefined) this.report.othersAcknowledged++;
          else this.find(`another owner: ${reason}`);
        }
      }),
    );
    for (let i = 0; i < WHILE_STOPPED; i++) {
      const name = pick(this.random, CHANGES);
      const reason = await this.hurt.change(this.client, name);
      if (reason !== "LOG_STOPPED") this.find(`${name} after a failed ${change}: ${reason ?? "acknowledged"}`);
    }
    for (const difference of await this.hurt.differences(this.client)) this.find(`${change}, stopped: ${difference}`);
    const { writable } = await this.client.owners.describe({ owner: toProtoOwner(this.hurt.owner) });
    if (writable) this.find(`${change}: Describe says that the owner takes writes`);
    await this.expectHealth({ grpc: "NOT_SERVING", healthz: 503, stoppedOwners: 1 });
    going = false;
    await othersWrite;
    for (const other of this.others) {
      for (const difference of await other.differences(this.second)) this.find(`another owner: ${difference}`);
    }
  }

  /** It must take writes again without anybody's doing. */
  private async heal(change: string): Promise<void> {
    const started = performance.now();
    await this.fiu.heal(this.pid, "fsync");
    await this.expectHealth({ grpc: "SERVING", healthz: 200, stoppedOwners: 0 });
    this.report.longestHealMs = Math.max(this.report.longestHealMs, performance.now() - started);
    for (const difference of await this.hurt.differences(this.client)) this.find(`${change}, healed: ${difference}`);
    for (const name of CHANGES) {
      const reason = await this.hurt.change(this.client, name);
      if (reason !== undefined) this.find(`${name} after healing: ${reason}`);
    }
  }

  private async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  private async expectHealth(wanted: SaidHealth): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const said = await askHealth(this.service);
      if (JSON.stringify(said) === JSON.stringify(wanted)) return;
      // A test build that is never stopped says so at once.
      if (performance.now() > until || this.options.swallowing) {
        this.find(`health says ${JSON.stringify(said)}, not ${JSON.stringify(wanted)}`);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  private get pid(): number {
    return this.service.child.pid ?? 0;
  }

  private inject(call: "fsync" | "fdatasync", how: "once" | "always"): Promise<void> {
    return this.fiu.fail(this.pid, call, how);
  }

  private find(what: string): void {
    this.report.findings.push(what);
  }
}
