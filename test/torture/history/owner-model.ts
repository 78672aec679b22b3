import type { MemoryKind } from "@reverie/client";
import { Cells } from "./cells.js";
import { type Item, patchedMeta, type Version } from "./operation.js";

export interface Live extends Version {
  readonly identity: string;
  /** Its first seq. */
  readonly ord: number;
}

interface Life {
  readonly entries: readonly Live[];
  readonly forgotten: readonly string[];
}

export const KINDS: readonly MemoryKind[] = ["episodic", "semantic", "working"];

/** Begins what stands for a ref that nobody was told. */
export const UNTOLD = "?";

/** What makes two Remembers the same. */
export const identityOf = ({ id, kind, text, meta }: Item): string => JSON.stringify([id, kind, text, meta]);

/**
 * One owner as the contract describes it, with every state it was in. The changes return false, and change nothing,
 * where they would have no effect.
 */
export class OwnerModel {
  readonly entries = new Cells<Live>();
  private readonly forgotten = new Cells<true>();
  private readonly trash = new Cells<Life>();
  private readonly present = new Cells<true>();

  undo(seq: number): void {
    for (const cells of [this.entries, this.forgotten, this.trash, this.present]) cells.undo(seq);
  }

  /** It has no seq of its own at this one: it never wrote, or is in the trash. */
  isAbsent(seq?: number): boolean {
    return this.present.at("", seq) !== true;
  }

  wasForgotten(item: Item, seq?: number): boolean {
    return this.forgotten.at(identityOf(item), seq) === true;
  }

  /** Newest first. */
  list(seq?: number, kinds: readonly MemoryKind[] = KINDS): Live[] {
    return this.entries
      .all(seq)
      .map(([, entry]) => entry)
      .filter(({ kind }) => kinds.includes(kind))
      .sort((a, b) => b.ts - a.ts || b.ord - a.ord);
  }

  store(seq: number, item: Item): boolean {
    if (this.entries.at(item.id) !== undefined || this.wasForgotten(item)) return false;
    this.entries.set(seq, item.id, { ...item, seq, ord: seq, identity: identityOf(item) });
    this.present.set(seq, "", true);
    return true;
  }

  patch(seq: number, id: string, patch: Readonly<Record<string, unknown>>): boolean {
    const entry = this.entries.at(id);
    if (entry === undefined) return false;
    const meta = patchedMeta(entry.meta, patch);
    if (meta === entry.meta) return false;
    this.entries.set(seq, id, { ...entry, meta, seq });
    return true;
  }

  forget(seq: number, id: string): boolean {
    const entry = this.entries.at(id);
    if (entry === undefined) return false;
    this.entries.set(seq, id, undefined);
    this.forgotten.set(seq, entry.identity, true);
    return true;
  }

  /** How many it removed. */
  clear(seq: number, kind: MemoryKind): number {
    const gone = this.list(undefined, [kind]);
    for (const { id } of gone) this.forget(seq, id);
    return gone.length;
  }

  /** `key` is the payload's ref, or what stands for it. */
  softDelete(seq: number, key: string): boolean {
    const entries = this.list();
    if (entries.length === 0) return false;
    const forgotten = this.forgotten.all().map(([identity]) => identity);
    this.trash.set(seq, key, { entries, forgotten });
    for (const { id } of entries) this.entries.set(seq, id, undefined);
    for (const identity of forgotten) this.forgotten.set(seq, identity, undefined);
    this.present.set(seq, "", undefined);
    return true;
  }

  /** What a ref may stand for: the payload that was given it, else each whose ref nobody was told. */
  payloads(refId: string): string[] {
    if (this.trash.at(refId) !== undefined) return [refId];
    return this.trash
      .all()
      .map(([key]) => key)
      .filter((key) => key.startsWith(UNTOLD));
  }

  isInTrash(key: string, seq?: number): boolean {
    return this.trash.at(key, seq) !== undefined;
  }

  restore(seq: number, key: string): boolean {
    const life = this.trash.at(key);
    if (life === undefined || this.list().length > 0) return false;
    this.trash.set(seq, key, undefined);
    for (const entry of life.entries) this.entries.set(seq, entry.id, entry);
    for (const identity of life.forgotten) this.forgotten.set(seq, identity, true);
    this.present.set(seq, "", true);
    return true;
  }
}
