import { type Owner, ReverieError, toProtoOwner } from "@reverie/client";
import type { RememberResponse } from "@reverie/proto/memory";
import { between, pick, type Random } from "../../lib/random.js";
import type { Expected, ExpectedOwner, Sent } from "../expected-owner.js";
import { importMany, rememberMany, toNewEntry } from "./bulk-steps.js";
import { chooseStep, type Desk, type Habits, type Step, type Surroundings } from "./habits.js";
import { clear, clearAll, discard, moveToTrashAndBack } from "./owner-steps.js";
import { sentText } from "./sent-text.js";

/** One of an owner's writers: makes its own ids, one call at a time. Steps of many entries are files of their own. */
export class Writer implements Desk {
  readonly mine: Expected[] = [];
  private count = 0;

  constructor(
    readonly owner: Owner,
    readonly expected: ExpectedOwner,
    private readonly name: string,
    private readonly habits: Habits,
  ) {}

  /** Works until the service is gone. */
  async run(around: Surroundings): Promise<void> {
    this.forgetOld();
    try {
      for (const unsure of this.mine.filter((entry) => entry.retry)) await this.retry(around, unsure);
      while (!around.stopping())
        await this.step(
          around,
          chooseStep(around.random, this.habits, this.mine.filter(({ present }) => present).length),
        );
    } catch (error) {
      if (!around.stopping())
        around.problem(`${this.name}: ${error instanceof ReverieError ? error.reason : ""} ${error}`);
    }
  }

  private step(around: Surroundings, step: Step): Promise<void> {
    switch (step) {
      case "remember":
        return this.remember(around, this.expected.remember(this.newEntry(around.random)));
      case "rememberMany":
        return rememberMany(this, around);
      case "import":
        return importMany(this, around);
      case "clear":
        return clear(this, around);
      case "clearAll":
        return clearAll(this, around);
      case "trash":
        return moveToTrashAndBack(this, around);
      case "discard":
        return discard(this, around);
      default:
        return this.change(around, step);
    }
  }

  private async change(around: Surroundings, step: Step): Promise<void> {
    const wanted = step === "lateRetry" ? "forgotten" : "present";
    const candidates = this.mine.filter((entry) => entry[wanted]);
    if (candidates.length === 0) return this.step(around, "remember");
    const entry = pick(around.random, candidates);
    if (step === "forget") return this.forget(around, entry);
    if (step === "patch") return this.patch(around, entry);
    if (step === "recall") return this.recall(around, entry);
    if (step === "lateRetry") return this.lateRetry(around, entry);
    return this.retry(around, entry);
  }

  newEntry(random: Random): Sent {
    const id = `${this.name}-${this.count++}`;
    const metaJson = random() < 0.5 ? "" : `{"n":${between(random, 0, 9)},"by":"${this.name}"}`;
    return { id, kind: pick(random, this.habits.kinds), text: sentText(random, id), metaJson };
  }

  private request(sent: Sent) {
    return { owner: toProtoOwner(this.owner), entry: toNewEntry(sent) };
  }

  private async remember({ client, problem }: Surroundings, entry: Expected): Promise<void> {
    this.mine.push(entry);
    const before = this.expected.seq;
    const reply = await client.memory.remember(this.request(entry.sent));
    if (reply.alreadyStored) problem(`${entry.sent.id} was stored already`);
    if (reply.entry?.text !== entry.sent.text) problem(`${entry.sent.id} came back altered`);
    const seq = Number(reply.entry?.seq);
    if (seq <= before) problem(`seq went back: ${entry.sent.id} got ${seq} after ${before}`);
    this.expected.remembered(entry, seq);
  }

  /** The same once more, of an entry that is there, or whose outcome was unknown and is settled now. */
  private async retry({ client, problem }: Surroundings, entry: Expected): Promise<void> {
    const { present, forgotten } = entry;
    entry.retry = false;
    if (forgotten) return;
    this.expected.remember(entry.sent);
    let reply: RememberResponse;
    try {
      reply = await client.memory.remember(this.request(entry.sent));
    } catch (error) {
      if (!isForgotten(error) || !this.expected.mayVanish(entry)) throw error;
      this.expected.missed(entry, 0);
      return;
    }
    // A clearing or a cap beside it may have taken it away meanwhile: then the retry is refused, or stores it again.
    if (reply.alreadyStored !== present && !this.expected.mayVanish(entry)) {
      problem(`a retry of ${entry.sent.id} said already_stored: ${reply.alreadyStored}`);
    }
    if (!reply.alreadyStored) entry.metas = [entry.sent.metaJson];
    this.expected.remembered(entry, Number(reply.entry?.seq));
  }

  private async lateRetry({ client, problem }: Surroundings, entry: Expected): Promise<void> {
    try {
      await client.memory.remember(this.request(entry.sent));
      problem(`${entry.sent.id} was forgotten, and a late retry stored it again`);
    } catch (error) {
      if (!isForgotten(error)) throw error;
    }
  }

  private async forget({ client, problem }: Surroundings, entry: Expected): Promise<void> {
    this.expected.forget(entry);
    const reply = await client.memory.forget({ owner: toProtoOwner(this.owner), id: entry.sent.id });
    if (reply.found) this.expected.forgot(entry, Number(reply.seq));
    else if (!this.expected.missed(entry, Number(reply.seq))) problem(`Forget didn't find ${entry.sent.id}`);
  }

  private async patch({ client, random, problem }: Surroundings, entry: Expected): Promise<void> {
    const meta = { ...JSON.parse(entry.metas[0] || "{}"), n: between(random, 10, 1_000_000) };
    const wanted = JSON.stringify(meta);
    this.expected.patch(entry, wanted);
    const patchJson = JSON.stringify({ n: meta.n });
    const reply = await client.memory.patchMeta({ owner: toProtoOwner(this.owner), id: entry.sent.id, patchJson });
    if (reply.found) {
      if (reply.entry?.metaJson !== wanted)
        problem(`${entry.sent.id} was patched to ${reply.entry?.metaJson}, not ${wanted}`);
      this.expected.patched(entry, wanted, Number(reply.entry?.seq));
    } else if (!this.expected.missed(entry, Number(reply.seq))) problem(`PatchMeta didn't find ${entry.sent.id}`);
  }

  private async recall({ client, problem }: Surroundings, entry: Expected): Promise<void> {
    const { entries } = await client.recall(this.owner, {
      text: `${entry.sent.id} `,
      k: 200,
      minSeq: this.expected.seq,
    });
    const found = entries.some(({ id, text }) => id === entry.sent.id && text === entry.sent.text);
    if (!found && !this.expected.mayVanish(entry)) problem(`Recall didn't find ${entry.sent.id}`);
  }

  /** Keeps what may still be of use, so that choosing stays quick. */
  private forgetOld(): void {
    const gone = this.mine.filter(({ present, retry }) => !present && !retry);
    for (const old of gone.slice(0, -50)) this.mine.splice(this.mine.indexOf(old), 1);
  }
}

function isForgotten(error: unknown): boolean {
  return error instanceof ReverieError && error.reason === "ENTRY_FORGOTTEN";
}
