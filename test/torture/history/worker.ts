import { type MemoryClient, type Owner, ReverieError, toProtoOwner } from "@reverie/client";
import { Kind } from "@reverie/proto/memory";
import { between, pick, type Random } from "../../lib/random.js";
import type { Arguments, CallName, Item } from "./operation.js";
import { KINDS } from "./owner-model.js";
import type { Recorder } from "./recorder.js";

const PROTO_KINDS = { episodic: Kind.EPISODIC, semantic: Kind.SEMANTIC, working: Kind.WORKING } as const;
const IDS = ["a", "b", "c", "d", "e", "f"];
/** Calls of an owner until its ids get other texts: what was forgotten once is refused for a day. */
const CALLS_A_TEXT = 40;
/** The SDK's attempts come on top. */
const TRIES = 3;

const MIX: Readonly<Record<Step, number>> = {
  remember: 30,
  rememberMany: 7,
  patch: 12,
  forget: 16,
  clear: 1,
  get: 10,
  list: 10,
  recall: 8,
  describe: 4,
  repeat: 4,
};
type Step = Exclude<CallName, "softDelete" | "restore"> | "repeat";
const STEPS = Object.entries(MIX).flatMap(([step, weight]) => Array<Step>(weight).fill(step as Step));

/** Tries to empty the trash while nobody else calls. */
const ROUNDS = 20;

/** An owner, and how many calls it has had. */
export interface Stage {
  readonly owner: Owner;
  calls: number;
  /** While it is there, only the worker that moves the owner begins calls. */
  held?: Promise<void> | undefined;
  /** One of its workers moves it to the trash and back. */
  readonly moving: boolean;
}

export interface Surroundings {
  readonly client: MemoryClient;
  readonly recorder: Recorder;
  readonly random: Random;
}

/** Makes one call after the other to one owner, whose few ids it shares with others. */
export class Worker {
  private readonly owner: ReturnType<typeof toProtoOwner>;
  private seq = 0;
  private last: Item | undefined;

  constructor(
    private readonly around: Surroundings,
    private readonly stage: Stage,
    private readonly moves: boolean,
  ) {
    this.owner = toProtoOwner(stage.owner);
  }

  /** Until `more` says no. */
  async run(more: () => boolean): Promise<void> {
    while (more()) {
      if (!this.moves) await this.stage.held;
      if (this.moves && this.around.random() < 0.03) await this.thereAndBack();
      else await this.step(pick(this.around.random, STEPS));
    }
  }

  /** Reads all. */
  async look(): Promise<void> {
    await this.step("list");
    await this.step("describe");
  }

  private step(step: Step): Promise<unknown> {
    this.stage.calls++;
    const { random, client } = this.around;
    const { owner } = this;
    const id = pick(random, IDS);
    const minSeq = random() < 0.5 ? this.seq : 0;
    const read = { owner, minSeq: BigInt(minSeq) };
    switch (step) {
      case "remember":
        return this.remember(this.newItem(id));
      case "repeat":
        return this.remember(this.last ?? this.newItem(id));
      case "rememberMany": {
        const from = between(random, 0, IDS.length - 2);
        const items = IDS.slice(from, from + between(random, 2, 4)).map((one) => this.newItem(one));
        return this.call("rememberMany", { items }, async () => {
          const sent = items.map(({ meta, ...item }) => ({ ...item, ...(meta !== "" && { meta: JSON.parse(meta) }) }));
          return { seq: (await client.rememberMany(this.stage.owner, sent, { timeoutMs: 5_000 })).lastSeq };
        });
      }
      case "patch": {
        const patch = { p: between(random, 0, 3) };
        return this.call("patch", { id, patch }, () =>
          client.memory.patchMeta({ owner, id, patchJson: JSON.stringify(patch) }),
        );
      }
      case "forget":
        return this.call("forget", { id }, () => client.memory.forget({ owner, id }));
      case "clear": {
        const all = random() < 0.5;
        const kinds = all ? KINDS : [pick(random, KINDS)];
        const request = all ? { all } : { kinds: kinds.map((kind) => PROTO_KINDS[kind]) };
        return this.call("clear", { kinds }, () => client.memory.clear({ owner, ...request }));
      }
      case "get":
        return this.call("get", { id, minSeq }, () => client.memory.getEntry({ ...read, id }));
      case "list":
        return this.call("list", { minSeq }, () => client.memory.listEntries({ ...read, pageSize: 500 }));
      case "recall": {
        const text = pick(random, ["", `${id} v`, "Odd", "even"]);
        return this.call("recall", { text, minSeq }, async () => {
          const { summary } = await client.recall(this.stage.owner, { text, minSeq, k: 200 });
          return { seq: summary.seq };
        });
      }
      case "describe":
        return this.call("describe", { minSeq }, () => client.owners.describe(read));
    }
  }

  private remember(item: Item): Promise<unknown> {
    this.last = item;
    const { id, kind, text, ts, meta } = item;
    const entry = { id, kind: PROTO_KINDS[kind], text, tsMs: BigInt(ts), metaJson: meta };
    return this.call("remember", { item }, () => this.around.client.memory.remember({ owner: this.owner, entry }));
  }

  /** Several workers send the same for a while. */
  private newItem(id: string): Item {
    const { random } = this.around;
    const number = Math.floor(this.stage.calls / CALLS_A_TEXT) + between(random, 0, 1);
    return {
      id,
      kind: KINDS[(number + IDS.indexOf(id)) % KINDS.length],
      text: `${id} v${number} ${number % 2 === 0 ? "even" : "odd"}`,
      ts: 1_700_000_000_000 + ((number * 7) % 5),
      meta: random() < 0.1 ? '{"n":1}' : "",
    };
  }

  private async thereAndBack(): Promise<void> {
    this.stage.calls += 2;
    const { client } = this.around;
    const { owner } = this;
    await this.call("softDelete", {}, () => client.trash.softDelete({ owner }));
    await this.step("remember");
    for (const refId of (await this.refs()) ?? []) {
      if ((await this.restore(refId)) !== undefined) continue;
      // Somebody has stored something: make room, and try once more.
      await this.makeRoom();
      await this.restore(refId);
    }
    await this.emptyTrash();
  }

  /**
   * What a payload holds shows when it is back, and may be in doubt before: kept for long, it would leave the checker
   * with more orders than it can try.
   */
  private async emptyTrash(): Promise<void> {
    let release = (): void => {};
    this.stage.held = new Promise((resolve) => {
      release = resolve;
    });
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const refs = await this.refs();
        if (refs?.length === 0) return;
        const [refId] = refs ?? [];
        if (refId === undefined) continue;
        await this.makeRoom();
        await this.restore(refId);
      }
    } finally {
      this.stage.held = undefined;
      release();
    }
  }

  /** undefined: refused, or unknown. */
  private restore(refId: string): Promise<object | undefined> {
    const { owner } = this;
    return this.call("restore", { refId }, () => this.around.client.trash.restore({ owner, refId }));
  }

  private makeRoom(): Promise<unknown> {
    const { owner } = this;
    return this.call("clear", { kinds: KINDS }, () => this.around.client.memory.clear({ owner, all: true }));
  }

  /** undefined: the trash could not be read. */
  private async refs(): Promise<string[] | undefined> {
    const refs: string[] = [];
    try {
      for await (const part of this.around.client.trash.listTrash({ owner: this.owner }))
        refs.push(...part.refs.filter(({ hasPayload }) => hasPayload).map(({ refId }) => refId));
    } catch {
      return undefined;
    }
    return refs;
  }

  /** Sends it again where its outcome is unknown, unless twice is more than once. undefined: refused, or unknown for good. */
  private async call<C extends CallName>(
    call: C,
    args: Arguments<C>,
    send: () => Promise<{ readonly seq: bigint | number }>,
  ): Promise<object | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        const reply = await this.around.recorder.during(this.stage.owner, call, args, send);
        this.seq = Math.max(this.seq, Number(reply.seq));
        return reply;
      } catch (error) {
        if (!(error instanceof ReverieError)) throw error;
        const unknown = error.code === "UNAVAILABLE" || error.code === "DEADLINE_EXCEEDED";
        if (!unknown || tries === TRIES || call === "softDelete" || call === "restore") return undefined;
      }
    }
  }
}
