import type { Bounds } from "./bounds.js";
import type { Moves } from "./moves.js";
import { answerOf, type Item, type Operation, patchedMeta, refusalOf, sameVersion, type Version } from "./operation.js";
import { identityOf, KINDS, type Live, type OwnerModel } from "./owner-model.js";

/** What an operation's reply says about the owner, held against the model. */
export class Claims {
  constructor(
    private readonly operations: readonly Operation[],
    private readonly bounds: readonly Bounds[],
    private readonly model: OwnerModel,
    private readonly moves: Moves,
  ) {}

  /** The reply fits the states that it may have been made from; the model has come as far as its upper bound. */
  fits(i: number): boolean {
    const op = this.operations[i];
    if (op.reply === undefined) return true;
    const { done } = this.moves.of(i);
    // A change that was made fits its answer already.
    if (done && op.call !== "rememberMany") return this.restored(op);
    const refused = refusalOf(op);
    switch (op.call) {
      case "remember": {
        const answer = answerOf<"remember">(op);
        if (answer === undefined) return this.isRefused(i, op.item, refused);
        return answer.already && this.some(i, (seq) => this.hasAlready(op.item, seq, answer.entry));
      }
      case "rememberMany":
        return this.allItemsFit(i, op);
      case "patch": {
        const answer = answerOf<"patch">(op);
        if (answer?.entry === undefined) return answer !== undefined && this.some(i, (seq) => !this.live(op.id, seq));
        const { entry } = answer;
        return this.some(i, (seq) => {
          const found = this.live(op.id, seq);
          return found !== undefined && patchedMeta(found.meta, op.patch) === found.meta && sameVersion(found, entry);
        });
      }
      case "forget":
        return answerOf<"forget">(op)?.found === false && this.some(i, (seq) => !this.live(op.id, seq));
      case "clear":
        return (
          answerOf<"clear">(op)?.removed === 0 && this.some(i, (seq) => this.model.list(seq, op.kinds).length === 0)
        );
      case "softDelete":
        return answerOf<"softDelete">(op)?.moved === false && this.some(i, (seq) => this.model.list(seq).length === 0);
      case "restore":
        if (refused === "TRASH_NOT_FOUND") return this.some(i, (seq) => !this.model.isInTrash(op.refId, seq));
        return refused === "TRASH_RESTORE_CONFLICT" && this.some(i, (seq) => this.model.list(seq).length > 0);
      case "get": {
        const answer = answerOf<"get">(op);
        if (answer === undefined) return refused === "ENTRY_NOT_FOUND" && this.some(i, (seq) => !this.live(op.id, seq));
        return this.shows(answer.entry, answer.seq);
      }
      case "list": {
        const answer = answerOf<"list">(op);
        return answer !== undefined && sameList(this.model.list(answer.seq), answer.entries);
      }
      case "describe": {
        const counts = answerOf<"describe">(op)?.counts;
        const { seq = 0 } = answerOf<"describe">(op) ?? {};
        return counts !== undefined && KINDS.every((kind) => this.model.list(seq, [kind]).length === counts[kind]);
      }
      case "recall": {
        const answer = answerOf<"recall">(op);
        return answer !== undefined && this.isFound(i, op.text, answer.seq, answer.entries);
      }
    }
  }

  /** Restore counts what is live when it answers: only told from the state at its seq. */
  private restored(op: Operation): boolean {
    if (op.call !== "restore") return true;
    const answer = answerOf<"restore">(op);
    return answer === undefined || this.model.list(answer.seq).length === answer.entries;
  }

  private some(i: number, holds: (seq: number) => boolean): boolean {
    const { lower, upper } = this.bounds[i];
    const answer = answerOf(this.operations[i]);
    const absent = answer !== undefined && answer.seq === 0 && this.operations[i].call !== "rememberMany";
    for (let seq = lower; seq <= upper; seq++) if ((!absent || this.model.isAbsent(seq)) && holds(seq)) return true;
    return false;
  }

  private live(id: string, seq: number): Live | undefined {
    return this.model.entries.at(id, seq);
  }

  private shows(entry: Version, seq: number): boolean {
    const found = this.live(entry.id, seq);
    return found !== undefined && sameVersion(found, entry);
  }

  private hasAlready(item: Item, seq: number, shown?: Version): boolean {
    const found = this.live(item.id, seq);
    return found !== undefined && found.identity === identityOf(item) && (!shown || sameVersion(found, shown));
  }

  private isRefused(i: number, item: Item, reason: string | undefined): boolean {
    return this.some(i, (seq) => {
      const found = this.live(item.id, seq);
      if (reason === "ENTRY_EXISTS") return found !== undefined && found.identity !== identityOf(item);
      return reason === "ENTRY_FORGOTTEN" && found === undefined && this.model.wasForgotten(item, seq);
    });
  }

  private allItemsFit(i: number, op: Operation<"rememberMany">): boolean {
    const answer = answerOf<"rememberMany">(op);
    if (answer === undefined || this.moves.of(i).count !== answer.stored) return false;
    if (answer.stored + answer.already + answer.refusals.length !== op.items.length) return false;
    return op.items.every((item, at) => {
      const refusal = answer.refusals.find(({ index }) => index === at);
      if (refusal !== undefined) return this.isRefused(i, item, refusal.reason);
      return this.some(i, (seq) => this.hasAlready(item, seq));
    });
  }

  /** A search runs beside changes: what is live all the time is in it, and nothing that never was. */
  private isFound(i: number, text: string, seq: number, entries: readonly Version[]): boolean {
    const { upper } = this.bounds[i];
    const matches = (entry: Item): boolean => entry.text.toLowerCase().includes(text.toLowerCase());
    const exact = this.model.list(seq).filter(matches);
    if (sameList(exact, entries)) return true;
    const times = Array.from({ length: upper - seq + 1 }, (_, n) => seq + n);
    const lasting = exact.filter((entry) => times.every((time) => this.live(entry.id, time) !== undefined));
    return (
      entries.every((entry) => matches(entry) && times.some((time) => this.shows(entry, time))) &&
      lasting.every(({ id }) => entries.some((entry) => entry.id === id)) &&
      new Set(entries.map(({ id }) => id)).size === entries.length
    );
  }
}

function sameList(expected: readonly Version[], shown: readonly Version[]): boolean {
  return expected.length === shown.length && expected.every((entry, at) => sameVersion(entry, shown[at]));
}
