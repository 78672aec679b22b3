import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ReverieError } from "@reverie/service-kit/errors";
import {
  type JsonlStore,
  type JsonlStoreOptions,
  openJsonlStore,
} from "../../../memory-service/src/store/jsonl/jsonl-store.js";
import { DataDirectoryError } from "../../../memory-service/src/store/jsonl/root.js";
import { VolatileDisk } from "../volatile/volatile-disk.js";
import { type Call, type Ending, type Fault, FaultyFs } from "./faulty-fs.js";
import type { Scenario, Stage } from "./scenarios.js";
import {
  difference,
  filesBelow,
  isBetween,
  plainFacts,
  plainRead,
  type State,
  same,
  seqsOf,
  stateOf,
  x,
} from "./store-state.js";

/** The reasons with which a failing file system may be reported. */
const REASONS = ["DISK_FULL", "OVERLOADED", "LOG_STOPPED"];
/** Of which these promise that nothing was done. */
const NOTHING_DONE = ["DISK_FULL", "OVERLOADED"];
/** What reading needs. */
const READING = ["open", "close", "fsync", "fdatasync", "readdir", "readFile", "readSync", "fstatSync", "lstatSync"];
/** The longest that a stopped owner may take to be well again when the disk is, milliseconds. */
const RECOVERY_MS = 5000;
const TRIES = 5;

const NO_FAULT: Fault = { name: "none", code: "" };

export interface Prepared {
  readonly scenario: Scenario;
  /** A closed directory to begin from. */
  readonly template: string;
  readonly before: State;
  readonly after: State;
  /** How often the operation makes each call when nothing fails. */
  readonly calls: ReadonlyMap<Call, number>;
}

/** What happened where one call failed. */
export interface PointOutcome {
  /** The operation makes fewer calls than that: nothing failed. */
  readonly beyond: boolean;
  readonly acknowledged: boolean;
  readonly wrong: readonly string[];
}

export async function prepare(scenario: Scenario, dir: string): Promise<Prepared> {
  mkdirSync(dir, { recursive: true });
  const template = join(dir, "template");
  const store = await openJsonlStore({ root: template, reserveBytes: 4096, ...scenario.options });
  await scenario.setUp(store);
  await store.close();
  scenario.spoil?.(template);
  const bare: Prepared = { scenario, template, before: [], after: [], calls: new Map() };
  const { before, after } = await new Point(bare, NO_FAULT, join(dir, "whole")).rehearse();
  const calls = await new Point(bare, NO_FAULT, join(dir, "counted")).count();
  return { ...bare, before, after, calls };
}

export function runPoint(
  prepared: Prepared,
  fault: Fault,
  n: number,
  ending: Ending,
  root: string,
): Promise<PointOutcome> {
  const volatile = ending === "cut" && prepared.scenario.closes !== true;
  return new Point(prepared, fault, root, volatile).run(n, ending);
}

class Point {
  private readonly faulty: FaultyFs;
  private readonly wrong: string[] = [];
  private readonly disk: VolatileDisk;
  private readonly options: JsonlStoreOptions;
  private readonly scenario: Scenario;
  private elapsedMs = 0;
  private ref = "";
  private refusal: unknown;

  constructor(
    private readonly prepared: Prepared,
    private readonly fault: Fault,
    private readonly root: string,
    /** The page cache is the test's, and may be lost. */
    volatile = false,
  ) {
    this.scenario = prepared.scenario;
    this.disk = new VolatileDisk({ base: root, limbo: `${root}-limbo` });
    this.faulty = new FaultyFs(volatile ? this.disk.boot() : undefined);
    const now = (): number => Date.now() + this.elapsedMs;
    this.options = { root, reserveBytes: 4096, ...this.scenario.options, fs: this.faulty.fs, now };
    cpSync(prepared.template, root, { recursive: true });
  }

  async count(): Promise<ReadonlyMap<Call, number>> {
    const store = await this.strike(0);
    const calls = new Map(this.faulty.tally);
    await store.close();
    rmSync(this.root, { recursive: true });
    return calls;
  }

  async rehearse(): Promise<Pick<Prepared, "before" | "after">> {
    let store = await openJsonlStore(this.options);
    await this.scenario.ready?.(store);
    const before = await stateOf(store);
    await this.note(store);
    await this.operate(store);
    if (this.scenario.closes) store = await openJsonlStore(this.options);
    const after = await stateOf(store);
    await store.close();
    rmSync(this.root, { recursive: true });
    return { before, after };
  }

  async run(n: number, ending: Ending): Promise<PointOutcome> {
    let store: JsonlStore | undefined;
    try {
      store = await this.strike(n);
      const beyond = this.faulty.struck === "";
      if (beyond) this.faulty.heal();
      const served = await this.look(store);
      if (beyond) await this.end(store);
      else if (ending === "close" || this.scenario.closes) await this.closeAtOnce(store, served);
      else if (ending === "cut") await this.cutPower(store);
      else await this.tryAgain(store);
      return { beyond, acknowledged: this.refusal === undefined, wrong: this.wrong };
    } catch (error) {
      this.faulty.heal();
      if (!this.faulty.dead) await store?.close().catch(() => {});
      this.say(`${error instanceof Error ? error.stack : error}`);
      return { beyond: false, acknowledged: false, wrong: this.wrong };
    } finally {
      this.disk.end();
      rmSync(this.root, { recursive: true, force: true });
    }
  }

  /** Begins, and performs the operation with its nth call failing. */
  private async strike(n: number): Promise<JsonlStore> {
    const { scenario, faulty } = this;
    if (scenario.run === "open") {
      faulty.arm(this.fault, n);
      try {
        const opened = await openJsonlStore(this.options);
        await this.operate(opened).catch((error: unknown) => this.refused(error));
        return opened;
      } catch (error) {
        this.refusal = error;
        await faulty.settled();
        this.checkDescriptors("after an opening that failed");
        if (!(error instanceof DataDirectoryError) && !("code" in (error as object))) this.refused(error);
        faulty.heal();
        return openJsonlStore(this.options);
      }
    }
    const store = await openJsonlStore(this.options);
    await scenario.ready?.(store);
    if (scenario.cold !== true) await stateOf(store);
    await this.note(store);
    await faulty.settled();
    faulty.arm(this.fault, n);
    await this.operate(store).catch((error: unknown) => this.refused(error));
    await faulty.settled();
    return store;
  }

  private async note(store: JsonlStore): Promise<void> {
    this.ref = (await store.listTrash(x))[0]?.refId ?? "";
  }

  private async operate(store: JsonlStore): Promise<void> {
    const { run } = this.scenario;
    const stage: Stage = {
      store,
      root: this.root,
      ref: this.ref,
      settled: () => this.faulty.settled(),
      elapse: (ms) => {
        this.elapsedMs += ms;
      },
    };
    if (run === "open") await stateOf(store);
    else await run(stage);
  }

  private refused(error: unknown): void {
    this.refusal = error;
    const closing = this.scenario.closes === true && error instanceof Error && "code" in error;
    if (closing || REASONS.includes(reasonOf(error))) return;
    this.say(`refused with ${error instanceof Error ? `${error.name} ${reasonOf(error)} ${error.message}` : error}`);
  }

  /** Reads all there is, and judges it. undefined where reading can't work. */
  private async look(store: JsonlStore): Promise<State | undefined> {
    if (this.scenario.closes) return undefined;
    const { sticky } = this.fault;
    if (sticky && READING.includes(this.faulty.struckCall ?? "")) return undefined;
    if (!sticky) this.faulty.heal();
    try {
      const served = await stateOf(store);
      this.judge(served, "served");
      return served;
    } catch (error) {
      // An opening may need to write: what a crash left must be mended first.
      if (sticky && this.scenario.run === "open" && REASONS.includes(reasonOf(error))) return undefined;
      throw error;
    }
  }

  private judge(state: State, when: string): void {
    const { before, after } = this.prepared;
    const { steps, allOrNothing, hides } = this.scenario;
    const stays = (fact: string): boolean => hides === undefined || !fact.startsWith(hides);
    const reason = reasonOf(this.refusal);
    if (this.refusal === undefined) {
      if (!same(state, after) && !this.mayLag(state))
        this.say(`acknowledged, but ${when}: ${difference(state, after)}`);
      return;
    }
    const nothingDone = allOrNothing || NOTHING_DONE.includes(reason);
    const fine = steps
      ? isBetween(state, before.filter(stays), after)
      : same(state, before) || (!nothingDone && same(state, after));
    if (!fine) this.say(`refused with ${reason || this.refusal}, but ${when}: ${difference(state, before)}`);
  }

  /** What a cap could not drop for now may stay. */
  private mayLag(state: State): boolean {
    return this.scenario.mayLag === true && this.prepared.before.every((fact) => state.includes(fact));
  }

  private async closeAtOnce(store: JsonlStore, served: State | undefined): Promise<void> {
    const { sticky } = this.fault;
    await store.close().catch((error: unknown) => {
      if (!sticky && !this.scenario.closes) this.say(`closing failed: ${error}`);
    });
    await this.faulty.settled();
    this.checkDescriptors("after closing");
    this.faulty.heal();
    const again = await openJsonlStore(this.options);
    const state = await stateOf(again);
    this.judge(state, "after a restart");
    // A count of tails may lag: it never says less than there are.
    const entries = (facts: State): State => facts.filter((fact) => !fact.endsWith("torn tails"));
    if (served !== undefined && !sticky && !same(entries(state), entries(served)))
      this.say(`served one thing, and another after a restart: ${difference(state, served)}`);
    await this.end(again);
  }

  /** What was acknowledged, at once or after more tries, is there when the power is cut that moment. */
  private async cutPower(store: JsonlStore): Promise<void> {
    await this.insist(store);
    await this.faulty.die();
    const again = await openJsonlStore({ ...this.options, fs: this.disk.boot() });
    const { after } = this.prepared;
    const state = await stateOf(again);
    if (!same(state, after) && !this.mayLag(state))
      this.say(`acknowledged, but after a power cut: ${difference(state, after)}`);
    await again.close();
  }

  /** It resumes by itself, and then the operation can be done. */
  private async insist(store: JsonlStore): Promise<void> {
    this.faulty.heal();
    const until = performance.now() + RECOVERY_MS;
    while (!store.health().ok && performance.now() < until) await pause();
    if (!store.health().ok) this.say(`still not well ${RECOVERY_MS} ms after the disk is`);
    if (this.refusal !== undefined) await this.repeat(store);
  }

  private async tryAgain(store: JsonlStore): Promise<void> {
    await this.insist(store);
    await this.faulty.settled();
    const { after } = this.prepared;
    const state = await stateOf(store);
    if (!same(state, after) && !this.mayLag(state)) this.say(`tried again, it leads to ${difference(state, after)}`);
    const seqs = await seqsOf(store);
    await this.end(store);
    if (!this.mayLag(state) && !same(plainRead(this.root), plainFacts(state)))
      this.say(`a plain reader sees ${difference(plainRead(this.root), plainFacts(state))}`);
    const again = await openJsonlStore(this.options);
    const reopened = await stateOf(again);
    if (!same(reopened, state)) this.say(`after a restart ${difference(reopened, state)}`);
    const later = await seqsOf(again);
    if (later.some((seq, i) => seq < seqs[i])) this.say(`seqs went back from ${seqs} to ${later}`);
    this.checkLeftovers();
    await this.checkForgotten(again);
    await this.end(again);
  }

  private async repeat(store: JsonlStore): Promise<void> {
    for (let left = TRIES; ; left--) {
      try {
        await this.operate(store);
        return;
      } catch (error) {
        const reason = reasonOf(error);
        if (reason !== "" && reason === this.scenario.doneBefore) return;
        if (left === 0) throw error;
        await pause();
      }
    }
  }

  private async checkForgotten(store: JsonlStore): Promise<void> {
    const { forgotten = [] } = this.scenario;
    for (const entry of forgotten) {
      for (const [path, bytes] of filesBelow(this.root))
        if (bytes.includes(`<${entry.id}> `)) this.say(`the text of ${entry.id}, forgotten, is in ${path.slice(-40)}`);
      const { outcomes } = await store.append(x, [entry]);
      if (outcomes[0].status !== "refused") this.say(`a late retry of ${entry.id}, forgotten, was stored`);
    }
  }

  private checkLeftovers(): void {
    for (const path of filesBelow(this.root).keys())
      if (/\.jsonl\.\d+\.tmp$|\.leaving-|\.probe$/.test(path) && !path.includes("/payload/"))
        this.say(`${path.slice(-40)} was left`);
  }

  private async end(store: JsonlStore): Promise<void> {
    await store.close();
    await this.faulty.settled();
    this.checkDescriptors("after closing");
  }

  private checkDescriptors(when: string): void {
    if (this.faulty.descriptors.size > 0) this.say(`${this.faulty.descriptors.size} descriptors stay open ${when}`);
  }

  private say(what: string): void {
    const { name } = this.scenario;
    this.wrong.push(`${name}, ${this.fault.name} at call ${this.faulty.counted} (${this.faulty.struck}): ${what}`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof ReverieError) return error.reason;
  return error instanceof Error && "reason" in error ? String(error.reason) : "";
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
