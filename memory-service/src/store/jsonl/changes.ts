import { ReverieError } from "@reverie/service-kit/errors";
import type { AppendOutcome, AppendResult, ForgetResult, NewEntry, PatchResult, StoredEntry } from "../store.js";
import type { Batch, Part } from "./batch.js";
import { forgottenHash, forgottenHashOf } from "./forgotten-hash.js";
import {
  decodeLine,
  type EntryFields,
  type EntryLine,
  encodeEntry,
  encodeForget,
  firstMetaDigest,
  hasOddMeta,
  metaDigest,
  metaOf,
} from "./line.js";
import { TOMBSTONE_MS } from "./log-state.js";
import type { Copy, Owner } from "./owner.js";
import { stored } from "./stored-entry.js";

// What each change adds to a batch. A change sees the durable state only; one that
// touches an id of the same batch waits for the next.

export interface Change {
  /** Adds to the batch; false when the rest has to wait for the next one. */
  plan(owner: Owner, batch: Batch): boolean;
  /** All of it is durable and applied. */
  done(owner: Owner): void;
  fail(error: unknown): void;
  /** May use the disk's reserve when it is full. */
  readonly frees: boolean;
  /** Caps dropped entries because of what this change added. */
  dropped(count: number): void;
}

const isLive = ({ log, i }: Copy): boolean => log.state.index.isLive(i);

abstract class BaseChange<T> implements Change {
  readonly frees: boolean = false;
  readonly promise: Promise<T>;
  protected resolve!: (value: T) => void;
  fail!: (error: unknown) => void;

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve;
      this.fail = reject;
    });
  }

  abstract plan(owner: Owner, batch: Batch): boolean;
  abstract done(owner: Owner): void;
  dropped(_count: number): void {}
}

export class AppendChange extends BaseChange<AppendResult> {
  private readonly outcomes: AppendOutcome[] = [];
  private droppedByCaps = 0;

  constructor(private readonly entries: readonly NewEntry[]) {
    super();
  }

  plan(owner: Owner, batch: Batch): boolean {
    while (this.outcomes.length < this.entries.length) {
      if (batch.isFull) return false;
      const entry = this.entries[this.outcomes.length];
      if (batch.touched.has(entry.id)) return false;
      this.outcomes.push(planAppend(owner, batch, entry));
    }
    return true;
  }

  done(owner: Owner): void {
    this.resolve({ outcomes: this.outcomes, seq: owner.reportedSeq, droppedByCaps: this.droppedByCaps });
  }

  override dropped(count: number): void {
    this.droppedByCaps += count;
  }
}

function planAppend(owner: Owner, batch: Batch, entry: NewEntry): AppendOutcome {
  const copies = owner.copies(entry.id, true);
  const live = copies.filter(isLive);
  if (live.length > 0) return compareWithStored(live, entry);
  if (copies.length > 0) {
    return refused(
      "ENTRY_CORRUPT",
      entry.id,
      "a damaged line has this id: send another id, forget it first, or the operator adopts it with `reverie check --adopt`",
    );
  }
  if (owner.forgets) {
    const hash = forgottenHash(owner.secret, entry.id, entry.kind, entry.text, metaDigest(entry.meta));
    if (owner.wasForgotten(hash, owner.now() - TOMBSTONE_MS)) {
      return refused(
        "ENTRY_FORGOTTEN",
        entry.id,
        "this very entry was forgotten less than 24 hours ago, and a retry doesn't bring it back; to store it again, send another id",
      );
    }
  }
  const target = owner.log(entry.kind);
  const part = batch.part(target);
  const seq = owner.nextSeq(batch, part);
  const late = part.isLate(entry.ts, seq);
  const added = { id: entry.id, kind: entry.kind, text: entry.text, ts: entry.ts, meta: entry.meta, seq, ord: seq };
  addEntry(batch, part, { ...added, late });
  batch.touched.add(entry.id);
  return { status: "stored", entry: added };
}

/** Queues the entry's line, and its indexing for when it is durable. */
function addEntry(batch: Batch, part: Part, fields: EntryFields): void {
  const { log, offset } = part;
  const encoded = encodeEntry(fields);
  batch.push(part, encoded);
  if (!fields.late) {
    part.maxTs = fields.ts;
    part.maxOrd = fields.ord;
  }
  const bytes = encoded.subarray(0, -1);
  const { id, text, ts, seq, ord, meta0, was } = fields;
  batch.applies.push(() =>
    log.state.apply({ type: "entry", id, text, ts, seq, ord, meta0, was, legacy: false }, bytes, offset),
  );
}

function compareWithStored(copies: readonly Copy[], entry: NewEntry): AppendOutcome {
  const sent = metaDigest(entry.meta);
  for (const { log, i } of copies) {
    const found = log.entry(i);
    if (found === undefined || log.kind !== entry.kind || found.line.text !== entry.text) continue;
    const { line, bytes } = found;
    if (firstMetaDigest(bytes, line) === sent) {
      return { status: "already", entry: stored(log, i, line, metaOf(bytes, line)) };
    }
  }
  return refused("ENTRY_EXISTS", entry.id, "another entry has this id; send a new id, or forget that entry first");
}

function refused(
  reason: "ENTRY_EXISTS" | "ENTRY_FORGOTTEN" | "ENTRY_CORRUPT",
  id: string,
  message: string,
): AppendOutcome {
  return { status: "refused", error: new ReverieError(reason, message, { metadata: { id } }) };
}

export class ForgetChange extends BaseChange<ForgetResult> {
  override readonly frees = true;
  private copies = 0;

  constructor(private readonly id: string) {
    super();
  }

  plan(owner: Owner, batch: Batch): boolean {
    if (batch.touched.has(this.id)) return false;
    const now = owner.now();
    for (const { log, i } of owner.copies(this.id, true)) {
      const { index } = log.state;
      const was = { at: index.offset(i), len: index.length(i) };
      const found = index.isLive(i) ? log.entry(i) : undefined;
      const hash =
        found === undefined
          ? forgottenHash(owner.secret, this.id, log.kind, log.read(i).toString("latin1"), "")
          : forgottenHashOf(owner.secret, log.kind, found.line, found.bytes);
      const part = batch.part(log);
      const seq = owner.nextSeq(batch, part);
      const offset = part.offset;
      const line = encodeForget(this.id, hash, was, seq, now);
      batch.push(part, line);
      part.erase.push(was);
      const bytesOfLine = line.subarray(0, -1);
      batch.applies.push(() => {
        log.state.index.kill(i);
        log.state.apply(decodeLine(bytesOfLine), bytesOfLine, offset);
      });
      batch.touched.add(this.id);
      this.copies++;
    }
    return true;
  }

  done(owner: Owner): void {
    this.resolve({ copies: this.copies, seq: owner.reportedSeq });
  }
}

export class PatchChange extends BaseChange<PatchResult> {
  private copies = 0;
  private newest: StoredEntry | undefined;

  constructor(
    private readonly id: string,
    private readonly patch: (meta: string) => string,
  ) {
    super();
  }

  plan(owner: Owner, batch: Batch): boolean {
    if (batch.touched.has(this.id)) return false;
    const found = owner.copies(this.id, true);
    const live = found.filter(isLive);
    if (live.length === 0 && found.length > 0) {
      throw new ReverieError(
        "ENTRY_CORRUPT",
        "a damaged line has this id: forget it and store the entry anew, or the operator adopts it with `reverie check --adopt`",
        {
          metadata: { id: this.id },
        },
      );
    }
    const copies = live.map((copy) => this.prepare(copy)).filter((copy) => copy !== undefined);
    // All patches have succeeded: from here on nothing throws.
    for (const { log, i, line, meta, patched } of copies) {
      this.copies++;
      const ord = log.state.index.ord(i);
      if (patched === meta) {
        this.keepNewest(stored(log, i, line, meta));
        continue;
      }
      const part = batch.part(log);
      const was = { at: log.state.index.offset(i), len: log.state.index.length(i) };
      const seq = owner.nextSeq(batch, part);
      const late = part.isLate(line.ts, ord);
      const meta0 = line.meta0 ?? metaDigest(meta);
      batch.applies.push(() => log.state.index.kill(i));
      addEntry(batch, part, {
        id: line.id,
        kind: log.kind,
        text: line.text,
        ts: line.ts,
        meta: patched,
        seq,
        ord,
        late,
        meta0,
        was,
      });
      part.erase.push(was);
      batch.touched.add(this.id);
      this.keepNewest({ id: line.id, kind: log.kind, text: line.text, ts: line.ts, meta: patched, seq, ord });
    }
    return true;
  }

  done(owner: Owner): void {
    this.resolve({ copies: this.copies, ...(this.newest && { entry: this.newest }), seq: owner.reportedSeq });
  }

  private prepare({ log, i }: Copy): (Copy & { line: EntryLine; meta: string; patched: string }) | undefined {
    const found = log.entry(i);
    if (found === undefined) return undefined;
    if (hasOddMeta(found.bytes, found.line)) {
      throw new ReverieError(
        "META_INVALID",
        "the stored meta, by an older writer, is no JSON object, and a patch would drop it; export the entry, forget it, and store it anew",
        { metadata: { rule: "object" } },
      );
    }
    const meta = metaOf(found.bytes, found.line);
    return { log, i, line: found.line, meta, patched: this.patch(meta) };
  }

  private keepNewest(entry: StoredEntry): void {
    const { newest } = this;
    if (newest === undefined || entry.ts > newest.ts || (entry.ts === newest.ts && entry.ord > newest.ord))
      this.newest = entry;
  }
}
