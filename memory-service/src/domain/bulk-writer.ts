import { type Reason, ReverieError } from "@reverie/service-kit/errors";
import type { NewEntry, OwnerConfig, OwnerRef } from "../store/store.js";
import type { MemoryContext } from "./context.js";
import { checkDraft, type EntryDraft } from "./entry.js";
import { cutToBytes, MAX_ENTRY_ID_BYTES, MAX_GROUP_BYTES, MAX_GROUP_ENTRIES, MAX_REFUSALS } from "./limits.js";
import { checkOwner } from "./owner.js";

const MAX_MESSAGE_BYTES = 1_024;

export interface Refusal {
  /** 0-based, among all items or lines. */
  readonly index: number;
  /** As sent, cut to 128 bytes; "" when there is none. */
  readonly id: string;
  readonly reason: Reason;
  /** At most 1 KiB. */
  readonly message: string;
}

export interface BulkResult {
  readonly stored: number;
  readonly already: number;
  /** By index, at most 1,000. */
  readonly refused: readonly Refusal[];
  /** Of the first entry stored; 0 when none was. */
  readonly firstSeq: number;
  /** Of the last entry stored; 0 when none was. */
  readonly lastSeq: number;
  readonly droppedByCaps: number;
  /** 1,000 refusals: nothing more is taken. */
  readonly stopped: boolean;
}

/** Stores many entries of one owner in bounded groups; what is refused doesn't stop the others. */
export class BulkWriter {
  private readonly memory: MemoryContext;
  private readonly owner: OwnerRef;
  private config: OwnerConfig | undefined;
  private group: NewEntry[] = [];
  private indexes: number[] = [];
  private groupBytes = 0;
  private stored = 0;
  private already = 0;
  private firstSeq = 0;
  private lastSeq = 0;
  private droppedByCaps = 0;
  private readonly refused: Refusal[] = [];

  /** OWNER_ID_INVALID. */
  constructor(memory: MemoryContext, owner: OwnerRef) {
    checkOwner(owner);
    this.memory = memory;
    this.owner = owner;
  }

  get stopped(): boolean {
    return this.refused.length >= MAX_REFUSALS;
  }

  /** Errors other than of this entry's own rules are thrown: earlier groups are stored, this one may be. */
  async add(index: number, draft: EntryDraft): Promise<void> {
    this.config ??= (await this.memory.store.config(this.owner)).config;
    let entry: NewEntry;
    try {
      entry = checkDraft(draft, this.config, this.memory.now());
    } catch (error) {
      this.refuse(index, draft.id, error);
      return;
    }
    this.group.push(entry);
    this.indexes.push(index);
    this.groupBytes += entry.text.length + entry.meta.length;
    // A whole group may be refused, and the answer holds every refusal.
    const most = Math.min(MAX_GROUP_ENTRIES, MAX_REFUSALS - this.refused.length);
    if (this.group.length >= most || this.groupBytes >= MAX_GROUP_BYTES) await this.flush();
  }

  /** `error` is a ReverieError; anything else is thrown. */
  refuse(index: number, id: string, error: unknown): void {
    if (!(error instanceof ReverieError)) throw error;
    this.refused.push({
      index,
      id: cutToBytes(id, MAX_ENTRY_ID_BYTES),
      reason: error.reason,
      message: cutToBytes(error.message, MAX_MESSAGE_BYTES),
    });
  }

  /** Stores what is left and sums up. */
  async finish(): Promise<BulkResult> {
    await this.flush();
    const { stored, already, firstSeq, lastSeq, droppedByCaps, stopped } = this;
    const refused = this.refused.sort((a, b) => a.index - b.index);
    return { stored, already, refused, firstSeq, lastSeq, droppedByCaps, stopped };
  }

  private async flush(): Promise<void> {
    const { group, indexes } = this;
    if (group.length === 0) return;
    this.group = [];
    this.indexes = [];
    this.groupBytes = 0;
    this.config = undefined;
    const { outcomes, droppedByCaps } = await this.memory.store.append(this.owner, group);
    this.droppedByCaps += droppedByCaps;
    if (droppedByCaps > 0) this.memory.onDroppedByCaps?.(droppedByCaps);
    for (const [position, outcome] of outcomes.entries()) {
      if (outcome.status === "refused") {
        this.refuse(indexes[position] ?? 0, group[position]?.id ?? "", outcome.error);
      } else if (outcome.status === "already") this.already++;
      else {
        this.stored++;
        if (this.firstSeq === 0) this.firstSeq = outcome.entry.seq;
        this.lastSeq = outcome.entry.seq;
      }
    }
  }
}
