import { rmSync } from "node:fs";
import { join } from "node:path";
import { ReverieError } from "@reverie/client";
import { openJsonlStore } from "../../../memory-service/src/store/jsonl/jsonl-store.js";
import { ServiceProcess } from "../../e2e/support/service-process.js";
import { Holder } from "./holder.js";
import { treeDigest } from "./tree-digest.js";

/** The longest that a refusal may take, beside the time of starting a process, milliseconds. */
const REFUSAL_MS = 1_000;
/** Starts differ on a busy machine: a second process gets this many times the slowest start so far. */
const START_TOLERANCE = 2;
/** Runs a command in a network namespace of its own, whose loopback works. Without root, by a user namespace. */
export const OTHER_NETWORK: readonly string[] = [
  "unshare",
  process.getuid?.() === 0 ? "-n" : "-rn",
  "sh",
  "-c",
  'ip link set lo up && exec "$0" "$@"',
];

/** Contests for one data directory, round after round: who must be refused, and who must get it. */
export class Contest {
  tries = 0;
  takeovers = 0;
  /** The slowest refusal inside one process, milliseconds. */
  slowestMs = 0;
  readonly wins: string[] = [];
  private readonly acknowledged = new Set<string>();
  private slowestStartMs = 0;

  constructor(
    private readonly dataDir: string,
    private readonly entry: string,
  ) {}

  get acknowledgedCount(): number {
    return this.acknowledged.size;
  }

  /** A first process has the directory; others try; then it dies, and the next must get it at once. */
  async round(): Promise<void> {
    await this.withHolder(async (holder) => {
      holder.startWriting();
      await this.refuse("a second process", holder.pid);
      await holder.stopWriting();
      await this.untouched(() => this.refuse("a process in another network namespace", holder.pid, OTHER_NETWORK));
      await this.untouched(() => this.refuseHere("a store inside another process", holder.pid));
      holder.service.child.kill("SIGSTOP");
      try {
        await this.untouched(() => this.refuse("a second process while the first is paused", holder.pid));
      } finally {
        holder.service.child.kill("SIGCONT");
      }
      await this.survives(holder);
    });
    await this.takeOver("another network namespace", OTHER_NETWORK);
    await this.together();
    await this.refuseBesideStore();
    await this.loseLock();
  }

  /** Without the lock's file a second process gets in: what this part must notice. */
  async withoutLock(): Promise<void> {
    await this.withHolder(async (holder) => {
      rmSync(join(this.dataDir, ".lock"));
      await this.refuse("a second process, with the lock's file removed", holder.pid);
      rmSync(join(this.dataDir, ".lock"), { force: true });
      await this.refuseHere("a store, with the lock's file removed", holder.pid);
    });
  }

  /** Also the proof that nothing of the one before, which was killed, stands in the way. */
  private async withHolder(work: (holder: Holder) => Promise<void>): Promise<void> {
    const service = await this.start();
    const holder = new Holder(service, this.acknowledged);
    try {
      await this.survives(holder);
      await work(holder);
    } finally {
      holder.close();
      await service.end("SIGKILL");
    }
  }

  private async start(under: readonly string[] = []): Promise<ServiceProcess> {
    const started = performance.now();
    const service = await ServiceProcess.start({ dataDir: this.dataDir, entry: this.entry, under });
    this.slowestStartMs = Math.max(this.slowestStartMs, performance.now() - started);
    return service;
  }

  private async survives(holder: Holder): Promise<void> {
    await holder.remember();
    for (const id of await holder.lost()) this.wins.push(`${id} is lost`);
  }

  private async untouched(attempt: () => Promise<void>): Promise<void> {
    const before = treeDigest(this.dataDir);
    await attempt();
    if (treeDigest(this.dataDir) !== before) this.wins.push("who was refused changed files");
  }

  private async refuse(who: string, holderPid: number, under: readonly string[] = []): Promise<void> {
    this.tries++;
    const started = performance.now();
    const second = ServiceProcess.spawn({ dataDir: this.dataDir, entry: this.entry, under });
    const exit = await Promise.race([second.exited, second.listening]);
    const tookMs = performance.now() - started;
    await second.end("SIGKILL");
    const limitMs = REFUSAL_MS + START_TOLERANCE * this.slowestStartMs;
    if (exit === undefined) this.wins.push(`${who} got the directory`);
    else if (exit.code !== 2 || !exit.output.includes(`in use by process ${holderPid} `))
      this.wins.push(`${who} ended with ${exit.code ?? exit.signal} and named no holder: ${exit.output.trim()}`);
    else if (tookMs > limitMs)
      this.wins.push(`${who} was refused after ${tookMs.toFixed(0)} ms, not ${limitMs.toFixed(0)}`);
  }

  private async refuseHere(who: string, holderPid: number): Promise<void> {
    this.tries++;
    const started = performance.now();
    const opening = openJsonlStore({ root: this.dataDir });
    const refusal = await opening.then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    const tookMs = performance.now() - started;
    if (refusal === undefined) {
      await (await opening).close();
      this.wins.push(`${who} got the directory`);
      return;
    }
    this.slowestMs = Math.max(this.slowestMs, tookMs);
    if (!refusal.includes(`in use by process ${holderPid} `))
      this.wins.push(`${who} was not told the holder: ${refusal}`);
    if (tookMs > REFUSAL_MS) this.wins.push(`${who} was refused after ${tookMs.toFixed(0)} ms`);
  }

  /** The holder was killed, so that somebody else gets the directory, and it stops cleanly. */
  private async takeOver(from: string, under: readonly string[]): Promise<void> {
    this.takeovers++;
    const next = await this.start(under);
    const { code } = await next.end("SIGTERM");
    if (code !== 0) this.wins.push(`a service started from ${from} ended with ${code}`);
  }

  /** Two start at the same moment: one gets the directory, and the other is told by whom. */
  private async together(): Promise<void> {
    this.tries++;
    const both = [0, 1].map(() => ServiceProcess.spawn({ dataDir: this.dataDir, entry: this.entry }));
    const ends = await Promise.all(both.map(({ exited, listening }) => Promise.race([exited, listening])));
    const winners = both.filter((_, i) => ends[i] === undefined);
    const loser = ends.find((end) => end !== undefined);
    if (winners.length !== 1) this.wins.push(`of two that started together ${winners.length} got the directory`);
    else if (loser?.code !== 2 || !loser.output.includes(`in use by process ${winners[0].child.pid} `))
      this.wins.push(`the slower of two ended with ${loser?.code} and named no holder: ${loser?.output.trim()}`);
    await Promise.all(both.map((service) => service.end("SIGKILL")));
  }

  /** The lock's file goes under a running service: who comes next gets the directory, and nobody else writes there. */
  private async loseLock(): Promise<void> {
    await this.withHolder(async (holder) => {
      rmSync(join(this.dataDir, ".lock"));
      await this.withHolder(async () => {
        this.tries++;
        const refused = await holder.remember().then(
          () => false,
          (error: unknown) => error instanceof ReverieError && error.reason === "LOG_STOPPED",
        );
        if (!refused) this.wins.push("who lost the lock's file was not stopped from writing");
      });
    });
  }

  /** A store of this process has the directory: a service is told so. */
  private async refuseBesideStore(): Promise<void> {
    const store = await openJsonlStore({ root: this.dataDir });
    try {
      await this.untouched(() => this.refuse("a process beside a store", process.pid));
    } finally {
      await store.close();
    }
  }
}
