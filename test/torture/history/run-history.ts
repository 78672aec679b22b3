import { createMemoryClient, formatOwner, type MemoryClient, type Owner } from "@reverie/client";
import { seededRandom } from "../../lib/random.js";
import { checkHistory } from "./check-history.js";
import { checkWatch } from "./check-watch.js";
import type { OwnerHistory } from "./kept-history.js";
import { seqOf } from "./operation.js";
import { Recorder } from "./recorder.js";
import { ShakyProxy } from "./shaky-proxy.js";
import { Watcher } from "./watcher.js";
import { type Stage, Worker } from "./worker.js";

/** Each is a connection of its own; its workers share it. */
const CLIENTS = 6;
const OWNERS: readonly (Owner & { readonly moving?: true })[] = [
  { kind: "agent", id: "one" },
  { kind: "user", id: "two" },
  { kind: "shared", id: "three", moving: true },
];
/** Of so many packets of answers one never arrives. */
const TROUBLE_ONE_IN = 60;
/** For a watcher to hear of the last changes, milliseconds. */
const WATCH_MS = 20_000;

export interface HistoryOptions {
  readonly calls: number;
  readonly seed: number;
  /** `host:port` of the service when the load begins. */
  readonly address: string;
  /** Connections are cut, and answers swallowed, on the way. */
  readonly shaky: boolean;
  /** How often the service is replaced by a new process, spread over the calls. */
  readonly restarts: number;
  /** Ends the `n`-th process (0-based) and starts the next; returns its `host:port`. `ended` is called between. */
  readonly restart?: (n: number, ended: () => void) => Promise<string>;
  readonly progress?: (text: string) => void;
}

export interface HistoryReport {
  readonly violations: string[];
  /** The owners that they are of. */
  readonly wrong: readonly OwnerHistory[];
  readonly attempts: number;
  /** Attempts whose outcome nobody was told. */
  readonly unknown: number;
  /** Of these, those that the service had carried out. */
  readonly carriedOut: number;
  readonly cuts: number;
  readonly swallowed: number;
  readonly watched: number;
}

/** Lets clients collide on a service, and checks all that they were told. */
export async function runHistory(options: HistoryOptions): Promise<HistoryReport> {
  const { calls, seed, shaky } = options;
  const random = seededRandom(seed);
  const proxy = await ShakyProxy.start({ random, ...(shaky && { oneIn: TROUBLE_ONE_IN }) });
  proxy.target = options.address;
  const recorder = new Recorder();
  const connect = (): MemoryClient =>
    createMemoryClient({
      address: proxy.address,
      timeoutMs: 5_000,
      retry: { maxAttempts: 3, initialBackoffMs: 20, maxBackoffMs: 200 },
      interceptors: [recorder.interceptor],
    });
  const clients = Array.from({ length: CLIENTS + 1 }, connect);
  try {
    const stages: Stage[] = OWNERS.map(({ kind, id, moving = false }) => ({ owner: { kind, id }, calls: 0, moving }));
    const watchers = stages.filter(({ moving }) => !moving).map(({ owner }) => new Watcher(clients[CLIENTS], owner));
    const count = (): number => stages.reduce((sum, stage) => sum + stage.calls, 0);
    const workers = clients
      .slice(0, CLIENTS)
      .flatMap((client, n) =>
        stages.map((stage) => new Worker({ client, recorder, random }, stage, stage.moving && n === 0)),
      );
    const restarting = new Restarts(options, proxy, recorder, count);
    const running = workers.map((worker) => worker.run(() => count() < calls));
    await Promise.all([...running, restarting.run()]);
    proxy.calm();
    for (const worker of workers.slice(0, stages.length)) await worker.look();
    return await judge(recorder, proxy, stages, watchers);
  } finally {
    for (const client of clients) client.close();
    await proxy.close();
  }
}

async function judge(
  recorder: Recorder,
  proxy: ShakyProxy,
  stages: readonly Stage[],
  watchers: readonly Watcher[],
): Promise<HistoryReport> {
  const violations = [...recorder.strange];
  const wrong: OwnerHistory[] = [];
  let carriedOut = 0;
  let watched = 0;
  for (const [i, { owner }] of stages.entries()) {
    const name = formatOwner(owner);
    const operations = recorder.operations.get(name) ?? [];
    const watcher = watchers[i];
    await watcher?.reach(Math.max(...operations.map(seqOf)), WATCH_MS);
    const events = watcher?.events ?? [];
    const verdict = checkHistory(operations, events);
    // Without an order of the changes there is nothing to compare a watch with.
    const missed = watcher === undefined || verdict.violations.length > 0 ? [] : checkWatch(events, verdict.model);
    const found = [...verdict.violations, ...missed];
    violations.push(...found.map((what) => `${name}: ${what}`));
    if (found.length > 0) wrong.push({ owner: name, operations, watched: events });
    carriedOut += verdict.carriedOut;
    watched += events.length;
  }
  const { attempts, unknown } = recorder;
  return { violations, wrong, attempts, unknown, carriedOut, watched, cuts: proxy.cuts, swallowed: proxy.swallowed };
}

/** Replaces the service at even shares of the calls. */
class Restarts {
  constructor(
    private readonly options: HistoryOptions,
    private readonly proxy: ShakyProxy,
    private readonly recorder: Recorder,
    private readonly count: () => number,
  ) {}

  async run(): Promise<void> {
    const { calls, restarts, restart, progress = () => {} } = this.options;
    for (let n = 0; restart !== undefined && n < restarts; n++) {
      while (this.count() < (calls * (n + 1)) / (restarts + 1)) {
        progress(`${this.count()} of ${calls} calls`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      this.proxy.target = await restart(n, () => {
        this.proxy.target = undefined;
        this.recorder.processEnded();
      });
    }
  }
}
