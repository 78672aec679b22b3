import { seededRandom, shuffle } from "../../lib/random.js";
import { type Bounds, boundsOf, isChange } from "./bounds.js";
import type { WatchEvent } from "./check-watch.js";
import { Claims } from "./claims.js";
import { type Move, Moves } from "./moves.js";
import {
  answerOf,
  describeOperation,
  type Operation,
  refusalOf,
  sameVersion,
  seqOf,
  type Version,
} from "./operation.js";
import { OwnerModel } from "./owner-model.js";

/** Steps back without coming further before the search goes on elsewhere. */
const PATIENCE = 3_000;
/** Fresh starts near the furthest seq, in another order, before a reply counts as wrong. */
const FRESH_STARTS = 64;
/** An owner's violations; what follows from a wrong reply would only repeat it. */
const MOST = 10;

export interface Verdict {
  readonly violations: readonly string[];
  /** With every state that the owner was in, as far as the order was found. */
  readonly model: OwnerModel;
  /** Of unknown outcome, and yet carried out. */
  readonly carriedOut: number;
}

/**
 * Looks for one order of all changes of one owner, by seq, that gives every reply and disagrees with no clock. Where
 * none is found, the reply that fits no order is a violation, and the search goes on without it. What a watcher was told
 * only helps to tell which change was whose; `checkWatch` judges it.
 */
export function checkHistory(operations: readonly Operation[], watched: readonly WatchEvent[] = []): Verdict {
  const history = new History(operations, watched);
  const violations: string[] = [...history.plain];
  for (;;) {
    const search = new Search(history);
    const wrong = search.run();
    if (wrong !== undefined) violations.push(wrong);
    if (wrong === undefined || violations.length >= MOST) {
      return { violations, model: search.model, carriedOut: search.carriedOut };
    }
  }
}

class Lists {
  private readonly lists = new Map<number, number[]>();

  put(at: number, value: number): void {
    const list = this.lists.get(at);
    if (list === undefined) this.lists.set(at, [value]);
    else list.push(value);
  }

  at(at: number): readonly number[] {
    return this.lists.get(at) ?? [];
  }
}

/** The operations by where they can stand. */
class History {
  readonly highest: number;
  readonly bounds: readonly Bounds[];
  /** What is wrong without any search. */
  readonly plain: string[] = [];
  /** Not to be explained any more: operations, and seqs. */
  readonly excused = new Set<number>();
  readonly unused = new Set<number>();
  /** Operations whose replies can be judged when the model is at a seq. */
  readonly due = new Lists();
  /** Operations with an answer that may be the change of a seq. */
  readonly known = new Lists();
  readonly unknown: number[] = [];
  /** Seqs that replies carry. */
  readonly told = new Set<number>();
  /** Entries by the seq that they show. */
  readonly shown = new Map<number, Version>();

  /** Ids by the seq at which a watcher was told that they went. */
  readonly gone = new Map<number, string>();

  constructor(
    readonly operations: readonly Operation[],
    watched: readonly WatchEvent[],
  ) {
    for (const event of watched) if ("deleted" in event) this.gone.set(event.deleted.seq, event.deleted.id);
    const versions = [
      ...operations.flatMap(versionsOf),
      ...watched.flatMap((event) => ("upserted" in event ? [event.upserted] : [])),
    ];
    this.highest = Math.max(0, ...operations.map(seqOf), ...versions.map(({ seq }) => seq));
    this.bounds = boundsOf(operations, this.highest);
    for (const version of versions) this.show(version);
    operations.forEach((op, i) => {
      this.place(op, i);
    });
  }

  private show(version: Version): void {
    const before = this.shown.get(version.seq);
    if (before !== undefined && !sameVersion(before, version))
      this.plain.push(`two entries have seq ${version.seq}: ${JSON.stringify(before)} and ${JSON.stringify(version)}`);
    else this.shown.set(version.seq, version);
  }

  private place(op: Operation, i: number): void {
    const { lower, upper } = this.bounds[i];
    if (op.reply === undefined) {
      if (isChange(op)) this.unknown.push(i);
      return;
    }
    const wrong = this.wrongInTime(op, lower);
    if (wrong !== undefined) {
      this.plain.push(`${wrong}: ${describeOperation(op)}`);
      return;
    }
    const seq = seqOf(op);
    if (seq > 0) this.told.add(seq);
    this.due.put(upper, i);
    if (!isChange(op) || refusalOf(op) !== undefined || seq === 0) return;
    for (let at = lower + 1; at <= seq; at++) this.known.put(at, i);
  }

  /** Against what had been answered before it began, or what it asked for. */
  private wrongInTime(op: Operation, lower: number): string | undefined {
    const seq = seqOf(op);
    const refused = refusalOf(op);
    if (refused === "SEQ_NOT_REACHED") return "an acknowledged seq was not reached";
    if (seq > 0 && seq < lower) return `answered from seq ${seq} after ${lower} had been answered`;
    if (seq > 0 && "minSeq" in op && seq < op.minSeq) return `answered from seq ${seq}, not ${op.minSeq} as asked`;
    const remembered = op.call === "remember" ? answerOf<"remember">(op) : undefined;
    if (remembered === undefined || remembered.already) return undefined;
    const { entry } = remembered;
    if (entry.seq <= lower) return `stored at seq ${entry.seq} after ${lower} had been answered`;
    return entry.seq > seq ? `stored at seq ${entry.seq}, answered from ${seq}` : undefined;
  }
}

function versionsOf(op: Operation): readonly Version[] {
  if (op.reply === undefined || "refused" in op.reply) return [];
  if ("entries" in op.reply && Array.isArray(op.reply.entries)) return op.reply.entries;
  return "entry" in op.reply && op.reply.entry !== undefined ? [op.reply.entry] : [];
}

/** Goes from seq to seq, tries what may have made each change, and steps back where replies disagree. */
class Search {
  readonly model = new OwnerModel();
  private readonly moves: Moves;
  private readonly claims: Claims;
  /** The moves of each seq that were not tried yet; null: nothing happened at it. */
  private readonly open: (Move | null)[][] = [];
  private furthest = -1;
  private failure: { readonly text: string; readonly excuse: () => void } | undefined;
  private patience = PATIENCE;
  private freshStarts = 0;
  private readonly random = seededRandom(1);

  constructor(private readonly history: History) {
    const { operations, bounds } = history;
    this.moves = new Moves(operations, bounds, this.model);
    this.claims = new Claims(operations, bounds, this.model, this.moves);
  }

  get carriedOut(): number {
    return this.history.unknown.filter((i) => this.moves.of(i).count > 0).length;
  }

  /** What can't be right, excused from now on; undefined when all fits. */
  run(): string | undefined {
    let seq = 0;
    if (!this.agrees(0)) return this.giveUp();
    while (seq < this.history.highest) {
      seq++;
      this.open[seq] = this.candidates(seq);
      while (!this.advance(seq)) {
        if (seq === 1) return this.giveUp();
        if (this.patience-- > 0) seq--;
        else if (this.freshStarts++ < FRESH_STARTS) seq = this.freshStart();
        else return this.giveUp();
        this.undo(seq);
      }
    }
    return undefined;
  }

  /** The wrong turn was taken not far before: each start is from another distance. Returns the seq to try anew. */
  private freshStart(): number {
    this.patience = PATIENCE;
    const seq = Math.max(1, this.furthest - (8 << (this.freshStarts % 8)));
    this.undo(seq);
    this.open[seq] = this.candidates(seq);
    return seq;
  }

  private giveUp(): string {
    const { text, excuse } = this.failure ?? { text: "no order found", excuse: () => {} };
    excuse();
    return text;
  }

  /** Makes the next possible change of this seq. */
  private advance(seq: number): boolean {
    for (let move = this.open[seq].shift(); move !== undefined; move = this.open[seq].shift()) {
      if ((move === null || move.make()) && this.isShown(seq, move !== null) && this.agrees(seq)) return true;
      this.undo(seq);
    }
    this.fail(seq, `nothing that was sent can be the change of seq ${seq}`, () => this.history.unused.add(seq));
    return false;
  }

  private undo(seq: number): void {
    this.model.undo(seq);
    this.moves.undo(seq);
  }

  private candidates(seq: number): (Move | null)[] {
    const { known, unknown, excused, bounds, operations } = this.history;
    const able = known.at(seq).filter((i) => !excused.has(i));
    const sure = able.filter((i) => isSureAt(operations[i], seq));
    const found: (Move | null)[] = (sure.length > 0 ? sure : able).flatMap((i) => this.moves.at(i, seq));
    if (sure.length > 0) return [...found, null];
    const late = unknown.filter((i) => seq <= bounds[i].upper && !excused.has(i));
    const unsure = [...late.flatMap((i) => this.moves.at(i, seq)), null];
    return this.freshStarts === 0 ? [...found, ...unsure] : shuffle(this.random, [...found, ...unsure]);
  }

  /** The change is the one that entries of this seq show. */
  private isShown(seq: number, changed: boolean): boolean {
    const { shown, gone, told, unused } = this.history;
    if (unused.has(seq)) return true;
    const version = shown.get(seq);
    const goner = gone.get(seq);
    if (goner !== undefined && !this.model.entries.setAt(goner, seq)) return false;
    if (version === undefined) return changed || !told.has(seq);
    const entry = this.model.entries.at(version.id);
    return entry !== undefined && sameVersion(entry, version);
  }

  private agrees(seq: number): boolean {
    const { due, excused, operations, bounds } = this.history;
    for (const i of due.at(seq)) {
      if (excused.has(i) || this.claims.fits(i)) continue;
      const { lower, upper } = bounds[i];
      const text = `fits no state from seq ${lower} to ${upper}: ${describeOperation(operations[i])}`;
      this.fail(seq, text, () => excused.add(i));
      return false;
    }
    return true;
  }

  /** Of several failures the one behind which nothing came tells most. */
  private fail(seq: number, text: string, excuse: () => void): void {
    if (seq <= this.furthest) return;
    this.furthest = seq;
    this.failure = { text, excuse };
    this.patience = PATIENCE;
    this.freshStarts = 0;
  }
}

/** Its answer says that it made the change of this very seq. */
function isSureAt(op: Operation, seq: number): boolean {
  if (op.call === "remember") return answerOf<"remember">(op)?.entry.seq === seq && !answerOf<"remember">(op)?.already;
  if (op.call === "clear") return seqOf(op) === seq && (answerOf<"clear">(op)?.removed ?? 0) > 0;
  return op.call === "softDelete" && seqOf(op) === seq && answerOf<"softDelete">(op)?.moved === true;
}
