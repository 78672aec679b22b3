import type { MemoryKind } from "@reverie/client";

/** An entry as it was sent. */
export interface Sent {
  readonly id: string;
  readonly kind: MemoryKind;
  readonly text: string;
  /** "" for none. */
  readonly metaJson: string;
}

/** An entry as the service shows it. */
export type Seen = Sent;

/** What is known of one entry. Its calls come one after the other. */
export interface Expected {
  readonly sent: Sent;
  /** What its meta may be now: more than one while a patch is under way. */
  metas: string[];
  present: boolean;
  /** It was erased on purpose, so that a late retry must be refused. */
  forgotten: boolean;
  /** The seq of its last acknowledged change; 0 before the first. */
  seq: number;
  /** A call whose outcome isn't known. */
  underway: "remember" | "forget" | undefined;
  /** Its outcome was unknown at a kill: the client sends it again. */
  retry: boolean;
}

/** What a comparison found. */
export interface Verdict {
  /** Acknowledged, and missing or altered. */
  lost: string[];
  /** Acknowledged as erased, and there. */
  resurrected: string[];
  /** Outcomes that nobody knew before. */
  settled: number;
}

/** What one owner must hold, may hold and must not hold, by the replies that came. */
export class ExpectedOwner {
  readonly entries = new Map<string, Expected>();
  /** The highest seq of any reply. */
  seq = 0;
  acknowledged = 0;
  /** Where the owner is: `unknown` while it moves to the trash or back. */
  place: "live" | "trash" | "unknown" = "live";
  private readonly clearing = new Set<MemoryKind>();
  private readonly clearedAt = new Map<MemoryKind, number>();
  private discarding = false;
  /** Discarded, with no acknowledged change since. */
  private unborn = false;

  /** With a cap, older entries may go; the newest acknowledged one of the kind never does. */
  constructor(private readonly capped?: MemoryKind) {}

  remember(sent: Sent): Expected {
    const known = this.entries.get(sent.id);
    if (known !== undefined) {
      known.underway = "remember";
      return known;
    }
    const expected: Expected = {
      sent,
      metas: [sent.metaJson],
      present: false,
      forgotten: false,
      seq: 0,
      underway: "remember",
      retry: false,
    };
    this.entries.set(sent.id, expected);
    return expected;
  }

  remembered(expected: Expected, seq: number): void {
    expected.underway = undefined;
    this.stands(expected, seq);
    this.acknowledge(seq);
  }

  patch(expected: Expected, metaJson: string): void {
    expected.metas = [...expected.metas, metaJson];
  }

  patched(expected: Expected, metaJson: string, seq: number): void {
    expected.metas = [metaJson];
    this.stands(expected, seq);
    this.acknowledge(seq);
  }

  /** A change of the entry didn't find it. False when it had to be there. */
  missed(expected: Expected, seq: number): boolean {
    const fine = !expected.present || this.mayVanish(expected);
    expected.underway = undefined;
    expected.metas = expected.metas.slice(0, 1);
    expected.present = false;
    expected.forgotten ||= this.capped !== expected.sent.kind;
    this.acknowledge(seq);
    return fine;
  }

  forget(expected: Expected): void {
    expected.underway = "forget";
  }

  forgot(expected: Expected, seq: number): void {
    expected.underway = undefined;
    expected.present = false;
    expected.forgotten = true;
    this.acknowledge(seq);
  }

  clear(kind: MemoryKind): void {
    this.clearing.add(kind);
  }

  /** The seqs tell which entries the clearing found: others were stored beside it. */
  cleared(kind: MemoryKind, seq: number): void {
    this.clearing.delete(kind);
    this.clearedAt.set(kind, seq);
    for (const expected of this.entries.values()) {
      if (expected.sent.kind === kind && expected.present && expected.seq < seq) this.erased(expected);
    }
    this.acknowledge(seq);
  }

  /** The owner goes for good: all of it or nothing. */
  discard(): void {
    this.discarding = true;
  }

  /** What was kept of forgotten entries went too: their ids are free. */
  discarded(): void {
    this.discarding = false;
    for (const expected of this.entries.values()) {
      expected.present = false;
      expected.forgotten = false;
    }
    this.acknowledge(this.seq);
    this.unborn = true;
  }

  /** It may read as an owner that never was, at seq 0. */
  get mayBeUnborn(): boolean {
    return this.unborn || this.discarding;
  }

  acknowledge(seq: number): void {
    this.acknowledged++;
    this.unborn = false;
    this.seq = Math.max(this.seq, seq);
  }

  /** It may be gone although it was acknowledged: a clearing or a cap took it. */
  mayVanish({ sent: { kind }, seq }: Expected): boolean {
    return this.clearing.has(kind) || seq < (this.clearedAt.get(kind) ?? 0) || this.capped === kind;
  }

  /** Compares with all that the service shows after a restart. What was unknown is known from here on. */
  settle(seen: readonly Seen[]): Verdict {
    const verdict: Verdict = { lost: [], resurrected: [], settled: 0 };
    if (this.discarding && seen.length === 0) {
      verdict.settled = [...this.entries.values()].filter(({ present }) => present).length;
      this.discarded();
    }
    this.discarding = false;
    const found = new Map(seen.map((entry) => [entry.id, entry]));
    if (found.size !== seen.length) verdict.lost.push("an id is there twice");
    const newest = this.newest();
    for (const expected of this.entries.values())
      this.settleOne(expected, found.get(expected.sent.id), expected === newest, verdict);
    for (const id of found.keys()) if (!this.entries.has(id)) verdict.resurrected.push(`${id}, which nobody sent,`);
    this.clearing.clear();
    return verdict;
  }

  /** All of it for a file: what lives or may live as it was sent, what is gone by its id. */
  toJSON(): object {
    const entries = [...this.entries.values()];
    const isGone = ({ present, underway }: Expected): boolean => !present && underway === undefined;
    return {
      place: this.place,
      seq: this.seq,
      discarding: this.discarding,
      clearing: [...this.clearing],
      entries: entries
        .filter((entry) => !isGone(entry))
        .map(({ sent: { metaJson: _, ...sent }, metas, seq, present, underway }) => ({
          ...sent,
          metas,
          seq,
          present,
          underway,
        })),
      gone: entries.filter(isGone).map(({ sent }) => sent.id),
    };
  }

  private settleOne(expected: Expected, seen: Seen | undefined, newest: boolean, verdict: Verdict): void {
    const { sent, underway, metas } = expected;
    const clearing = this.clearing.has(sent.kind);
    const droppable = this.capped === sent.kind && !newest;
    const unknown = underway !== undefined || (expected.present && clearing) || metas.length > 1;
    if (unknown) verdict.settled++;
    if (seen !== undefined) {
      if (!expected.present && underway === undefined) verdict.resurrected.push(sent.id);
      if (seen.kind !== sent.kind || seen.text !== sent.text || !metas.includes(seen.metaJson))
        verdict.lost.push(`${sent.id} altered`);
      expected.metas = [seen.metaJson];
    } else if (expected.present && underway !== "forget" && !clearing && !droppable) {
      verdict.lost.push(sent.id);
    }
    if (seen === undefined && expected.present && (underway === "forget" || clearing)) expected.forgotten = !droppable;
    expected.present = seen !== undefined;
    expected.retry = underway === "remember";
    expected.underway = undefined;
  }

  private newest(): Expected | undefined {
    let newest: Expected | undefined;
    for (const expected of this.entries.values()) {
      const certain = expected.present && expected.underway === undefined && expected.sent.kind === this.capped;
      if (certain && expected.seq > (newest?.seq ?? 0)) newest = expected;
    }
    return newest;
  }

  private stands(expected: Expected, seq: number): void {
    expected.seq = seq;
    expected.present = true;
    if (seq < (this.clearedAt.get(expected.sent.kind) ?? 0)) this.erased(expected);
  }

  private erased(expected: Expected): void {
    expected.present = false;
    expected.forgotten = true;
  }
}
