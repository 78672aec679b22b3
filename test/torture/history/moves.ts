import type { Bounds } from "./bounds.js";
import { Cells } from "./cells.js";
import { answerOf, type Item, type Operation, sameVersion, seqOf, type Version } from "./operation.js";
import { KINDS, type OwnerModel, UNTOLD } from "./owner-model.js";

/** One way in which an operation may have made the change of a seq. */
export interface Move {
  readonly operation: number;
  /** Makes it in the model; false where it would have had no effect, or not the one that was answered. */
  make(): boolean;
}

/** How far an operation has come: a Clear takes a seq a kind, a RememberMany one an item. */
interface Progress {
  readonly next: number;
  readonly done: boolean;
  readonly count: number;
}

const START: Progress = { next: 0, done: false, count: 0 };

/** What operations can do at a seq, given what they answered. */
export class Moves {
  private readonly progress = new Cells<Progress>();

  constructor(
    private readonly operations: readonly Operation[],
    private readonly bounds: readonly Bounds[],
    private readonly model: OwnerModel,
  ) {}

  undo(seq: number): void {
    this.progress.undo(seq);
  }

  of(operation: number): Progress {
    return this.progress.at(String(operation)) ?? START;
  }

  at(operation: number, seq: number): Move[] {
    const op = this.operations[operation];
    const { lower } = this.bounds[operation];
    const before = this.of(operation);
    if (before.done || seq <= lower) return [];
    const { model } = this;
    const set = (progress: Progress): true => {
      this.progress.set(seq, String(operation), progress);
      return true;
    };
    const once = (make: () => boolean): Move[] => [
      { operation, make: () => make() && set({ next: 1, done: true, count: 1 }) },
    ];
    switch (op.call) {
      case "remember": {
        const answer = answerOf<"remember">(op);
        if (answer !== undefined && (answer.already || answer.entry.seq !== seq)) return [];
        return once(() => model.store(seq, op.item) && this.shows(op.item.id, answer?.entry));
      }
      case "patch": {
        const answer = answerOf<"patch">(op);
        if (answer !== undefined && answer.entry?.seq !== seq) return [];
        return once(() => model.patch(seq, op.id, op.patch) && this.shows(op.id, answer?.entry));
      }
      case "forget":
        return answerOf<"forget">(op)?.found === false ? [] : once(() => model.forget(seq, op.id));
      case "softDelete": {
        const answer = answerOf<"softDelete">(op);
        if (answer !== undefined && (!answer.moved || answer.seq !== seq)) return [];
        return once(() => model.softDelete(seq, answer?.refId ?? `${UNTOLD}${operation}`));
      }
      case "restore":
        return model.payloads(op.refId).flatMap((key) => once(() => model.restore(seq, key)));
      case "clear": {
        const last = seqOf(op);
        if (last > 0 && seq < last - KINDS.length + 1) return [];
        const kinds = KINDS.filter((kind) => op.kinds.includes(kind)).slice(before.next);
        return kinds.slice(0, 1).map((_) => ({
          operation,
          make: () => {
            const at = kinds.findIndex((kind) => model.list(undefined, [kind]).length > 0);
            if (at < 0) return false;
            const count = before.count + model.clear(seq, kinds[at]);
            const rest = kinds.slice(at + 1);
            const done = rest.every((kind) => model.list(undefined, [kind]).length === 0);
            const answer = answerOf<"clear">(op);
            if (answer !== undefined && (done !== (seq === last) || (done && count !== answer.removed))) return false;
            return set({ next: before.next + at + 1, done, count });
          },
        }));
      }
      case "rememberMany":
        return this.itemsAt(operation, op.items, seq);
      default:
        return [];
    }
  }

  private itemsAt(operation: number, items: readonly Item[], seq: number): Move[] {
    const answer = answerOf<"rememberMany">(this.operations[operation] as Operation<"rememberMany">);
    const { next, count } = this.of(operation);
    if (answer !== undefined) {
      if (seq < answer.firstSeq || seq > answer.seq || count === answer.stored) return [];
      if ((seq === answer.firstSeq) !== (count === 0) || (seq === answer.seq) !== (count + 1 === answer.stored))
        return [];
    }
    return items.flatMap((item, at) => {
      if (at < next || answer?.refusals.some(({ index }) => index === at)) return [];
      const make = (): boolean => {
        if (!this.model.store(seq, item)) return false;
        const done = answer === undefined ? at === items.length - 1 : count + 1 === answer.stored;
        this.progress.set(seq, String(operation), { next: at + 1, done, count: count + 1 });
        return true;
      };
      return [{ operation, make }];
    });
  }

  private shows(id: string, answered: Version | undefined): boolean {
    const entry = this.model.entries.at(id);
    return answered === undefined || (entry !== undefined && sameVersion(entry, answered));
  }
}
