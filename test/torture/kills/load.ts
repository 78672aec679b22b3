import { setTimeout as delay } from "node:timers/promises";
import { createMemoryClient, formatOwner, type MemoryClient, type MemoryClientOptions } from "@reverie/client";
import { between, type Random } from "../../lib/random.js";
import type { Sent } from "../expected-owner.js";
import { CAP_BYTES, type Member, makeCast } from "./cast.js";
import { inspect, naiveRead } from "./inspect.js";

/** For the first acknowledgement; on a busy machine it takes a while. */
const WAIT_MS = 5;
const MAX_WAITS = 2_000;

const PROBE_TIMEOUT_MS = 2_000;

/** What a load did, and what was wrong with what it left. */
export interface LoadReport {
  acknowledged: number;
  /** Calls whose outcome an end of the service left unknown. */
  settled: number;
  /** Tails that were cut off and kept aside. */
  tornTails: number;
  /** The most at one time. */
  corruptLines: number;
  /** Came after `freeze`, and didn't count. */
  lateAnswers: number;
  readonly lost: string[];
  readonly resurrected: string[];
  /** The service failed to start, answered wrongly, went back in seq, or left files that differ from its answers. */
  readonly problems: string[];
}

/** Owners and their writers, who work through many lives of one service, and what must be there by the replies. */
export class Load {
  readonly report: LoadReport = {
    acknowledged: 0,
    settled: 0,
    tornTails: 0,
    corruptLines: 0,
    lateAnswers: 0,
    lost: [],
    resurrected: [],
    problems: [],
  };
  private readonly cast = makeCast();
  private attached = false;
  private tornTails = 0;
  private frozen = false;
  private probes = 0;

  constructor(private readonly random: Random) {}

  get acknowledged(): number {
    return this.cast.reduce((sum, { expected }) => sum + expected.acknowledged, 0);
  }

  /** How much was found wrong so far. */
  get wrong(): number {
    const { lost, resurrected, problems } = this.report;
    return lost.length + resurrected.length + problems.length;
  }

  connect(address: string): MemoryClient[] {
    this.frozen = false;
    const interceptors: MemoryClientOptions["interceptors"] = [
      (next) => async (request) => {
        const answer = await next(request);
        if (!this.frozen) return answer;
        this.report.lateAnswers++;
        throw new Error("answered too late to count");
      },
    ];
    const options = { address, retry: { maxAttempts: 1 }, interceptors };
    return Array.from({ length: 3 }, () => createMemoryClient(options));
  }

  /** From here on no answer to the writers counts: what they have under way is unknown. */
  freeze(): void {
    this.frozen = true;
  }

  /** Stores an entry with each owner that can take one. What is acknowledged must be there, as always. */
  async probe(address: string): Promise<void> {
    const client = createMemoryClient({ address, retry: { maxAttempts: 1 }, timeoutMs: PROBE_TIMEOUT_MS });
    const probes = this.cast.map(async ({ owner, expected }) => {
      if (expected.place !== "live") return;
      const sent: Sent = { id: `probe-${this.probes++}`, kind: "semantic", text: "a probe", metaJson: "" };
      const entry = expected.remember(sent);
      const { kind, id, text } = sent;
      const { seq } = await client.remember(owner, { kind, id, text });
      expected.remembered(entry, seq);
    });
    await Promise.allSettled(probes);
    client.close();
  }

  /** Compares all that a service holds after its start with what must be there. */
  async look(client: MemoryClient): Promise<void> {
    const found = await inspect(client, this.cast);
    const { report } = this;
    report.lost.push(...found.lost);
    report.resurrected.push(...found.resurrected);
    report.problems.push(...found.problems);
    report.settled += found.settled;
    report.corruptLines = Math.max(report.corruptLines, found.corruptLines);
    // Clear removes what was kept aside.
    report.tornTails += Math.max(0, found.tornTails - this.tornTails);
    this.tornTails = found.tornTails;
    await this.attach(client);
  }

  /** All writers at once, until `stopping`; then until each one's last call has ended. */
  async work(clients: readonly MemoryClient[], stopping: () => boolean): Promise<void> {
    const writers = this.cast.flatMap((member) => member.writers);
    const problem = (what: string): void => void this.report.problems.push(what);
    await Promise.all(
      writers.map((writer, i) =>
        writer.run({ client: clients[i % clients.length], random: this.random, stopping, problem }),
      ),
    );
    this.report.acknowledged = this.acknowledged;
  }

  /** A moment to end a service at, once writers work: mostly among their acknowledgements, some before the first. */
  async moment(): Promise<void> {
    if (this.random() < 0.2) return delay(this.random() * 30);
    const before = this.acknowledged;
    for (let waits = 0; this.acknowledged === before && waits < MAX_WAITS; waits++) await delay(WAIT_MS);
    await delay(between(this.random, 0, 400));
  }

  /** Reads the files of a service that has stopped as anybody might. */
  compareFiles(dataDir: string): void {
    for (const member of this.cast) this.compareFilesOf(member, dataDir);
  }

  /** What must be there, for a file. */
  toJSON(): object {
    return this.cast.map(({ owner, expected }) => ({ owner: formatOwner(owner), ...expected.toJSON() }));
  }

  private async attach(client: MemoryClient): Promise<void> {
    for (const { owner, capped } of this.cast) {
      if (!capped) continue;
      const { changed } = await client.attach(owner, { maxEpisodicBytes: CAP_BYTES });
      if (changed && this.attached) this.report.lost.push(`the config of ${formatOwner(owner)}`);
      this.attached = true;
    }
  }

  private compareFilesOf({ owner, expected }: Member, dataDir: string): void {
    const key = (entry: { id: string; kind: string; text: string }): string =>
      `${entry.kind} ${entry.id} ${entry.text}`;
    const inFiles = naiveRead(dataDir, owner).map(key).sort();
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
