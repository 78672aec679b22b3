import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Fs, realFs } from "../../../src/store/jsonl/fs.js";
import { type JsonlStore, type JsonlStoreOptions, openJsonlStore } from "../../../src/store/jsonl/jsonl-store.js";
import { KINDS, type Kind, type NewEntry, type StoredEntry } from "../../../src/store/store.js";
import { agent } from "../support.js";
import type { Command } from "./commands.js";

/** Breaks an invariant on purpose, to show that its test can fail. */
export interface Sabotage {
  readonly store?: (store: JsonlStore) => Partial<JsonlStore>;
  readonly fs?: (fs: Fs) => Fs;
}

export interface Live extends StoredEntry {
  /** Its meta as first sent. */
  readonly first: string;
}

/** What a command gave, and what a plain list would have. */
export interface Step {
  readonly command: Command;
  /** The seq of the reply; undefined where it has none. */
  readonly seq?: number;
  /** Of what the command changed. */
  readonly seqs: readonly number[];
  readonly outcome: unknown;
  readonly expected: unknown;
  /** The store changed nothing, as the model knows. */
  readonly refused: boolean;
  readonly gone: readonly Live[];
}

const DAY_MS = 24 * 3_600_000;
const identity = ({ id, kind, text }: NewEntry, first: string): string => JSON.stringify([id, kind, text, first]);

/** A real store on a real directory, and the plain list that it must behave like. */
export class World {
  readonly root: string;
  store!: JsonlStore;
  live: Live[] = [];
  /** When it was forgotten, by identity. */
  forgotten = new Map<string, number>();
  trash: { refId: string; live: Live[]; forgotten: Map<string, number> }[] = [];
  clock = Date.UTC(2026, 0, 1);

  constructor(
    private readonly sabotage: Sabotage = {},
    private readonly options: Partial<JsonlStoreOptions> = {},
  ) {
    this.root = options.root ?? mkdtempSync(join(tmpdir(), "reverie-invariant-"));
  }

  async open(): Promise<void> {
    const { sabotage } = this;
    const store = await openJsonlStore({
      root: this.root,
      durability: "none",
      compactMinBytes: 200,
      reserveBytes: 0,
      trashRetentionMs: 1000 * DAY_MS,
      now: () => this.clock,
      fs: sabotage.fs?.(realFs) ?? realFs,
      ...this.options,
    });
    const lies = sabotage.store?.(store) ?? {};
    this.store = new Proxy(store, {
      get(target, name) {
        const found = lies[name as keyof JsonlStore] ?? Reflect.get(target, name, target);
        return typeof found === "function" ? found.bind(target) : found;
      },
    });
  }

  async reopen(): Promise<void> {
    await this.store.close();
    await this.open();
  }

  async end(): Promise<void> {
    await this.store.close();
    rmSync(this.root, { recursive: true, force: true });
  }

  /** By (ts, ord), newest first. */
  sorted(kinds: readonly Kind[] = KINDS): StoredEntry[] {
    return this.live
      .filter((entry) => kinds.includes(entry.kind))
      .sort((a, b) => b.ts - a.ts || b.ord - a.ord || KINDS.indexOf(b.kind) - KINDS.indexOf(a.kind))
      .map(({ first: _, ...entry }) => entry);
  }

  /** The bytes of each log of the owner. */
  logs(owner = agent): Record<string, string> {
    const directory = join(this.root, owner.kind, owner.id);
    try {
      const names = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
      return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name), "latin1")]));
    } catch {
      return {};
    }
  }

  async perform(command: Command): Promise<Step> {
    const nothing = { command, seqs: [], outcome: undefined, expected: undefined, refused: false, gone: [] };
    switch (command.do) {
      case "append":
        return this.append(command.entries, nothing);
      case "forget": {
        const gone = this.live.filter(({ id }) => id === command.id);
        const { copies, seq } = await this.store.forget(agent, command.id);
        this.remove(gone);
        return { ...nothing, seq, outcome: copies, expected: gone.length, refused: gone.length === 0, gone };
      }
      case "patch":
        return this.patch(command.id, command.meta, nothing);
      case "clear": {
        const gone = this.live.filter(({ kind }) => command.kinds.includes(kind));
        const { removed, seq } = await this.store.clear(agent, command.kinds);
        this.remove(gone);
        return { ...nothing, seq, outcome: removed, expected: gone.length, refused: gone.length === 0, gone };
      }
      case "tick":
        this.clock += command.ms;
        return nothing;
      case "reopen":
        await this.reopen();
        return nothing;
      case "softDelete": {
        const { moved, ref, seq } = await this.store.softDelete(agent, "");
        const expected = this.live.length > 0;
        if (moved) {
          this.trash.push({ refId: ref.refId, live: this.live, forgotten: this.forgotten });
          this.live = [];
          this.forgotten = new Map();
        }
        return { ...nothing, ...(moved && { seq }), outcome: moved, expected };
      }
      case "restore":
        return this.restore(nothing);
      case "hardDelete": {
        const item = this.trash.pop();
        if (item !== undefined) await this.store.hardDelete(agent, item.refId);
        return nothing;
      }
    }
  }

  /** What the retry rule says of an entry. */
  expects(entry: NewEntry): "stored" | "already" | "ENTRY_EXISTS" | "ENTRY_FORGOTTEN" {
    const present = this.live.find(({ id }) => id === entry.id);
    if (present !== undefined)
      return identity(present, present.first) === identity(entry, entry.meta) ? "already" : "ENTRY_EXISTS";
    const at = this.forgotten.get(identity(entry, entry.meta));
    return at !== undefined && at > this.clock - DAY_MS ? "ENTRY_FORGOTTEN" : "stored";
  }

  private async append(entries: readonly NewEntry[], nothing: Step): Promise<Step> {
    const { outcomes, seq } = await this.store.append(agent, entries);
    const seqs: number[] = [];
    const got: unknown[] = [];
    const expected: unknown[] = [];
    for (const [at, entry] of entries.entries()) {
      const outcome = outcomes[at];
      expected.push(this.expects(entry));
      got.push(outcome.status === "refused" ? (outcome.error as Error & { reason: string }).reason : outcome.status);
      if (outcome.status !== "stored") continue;
      this.live.push({ ...outcome.entry, first: entry.meta });
      seqs.push(outcome.entry.seq);
    }
    return { ...nothing, seq, seqs, outcome: got, expected, refused: seqs.length === 0 };
  }

  private async patch(id: string, meta: string, nothing: Step): Promise<Step> {
    const present = this.live.find((entry) => entry.id === id);
    const { entry, seq } = await this.store.patch(agent, id, () => meta);
    const changed = present !== undefined && present.meta !== meta;
    const seqs = changed && entry !== undefined ? [entry.seq] : [];
    if (present !== undefined)
      this.live[this.live.indexOf(present)] = { ...present, meta, seq: entry?.seq ?? Number.NaN };
    return { ...nothing, seq, seqs, outcome: entry?.meta, expected: present && meta, refused: !changed };
  }

  private async restore(nothing: Step): Promise<Step> {
    const item = this.trash.at(-1);
    if (item === undefined) return nothing;
    const answer = await this.store
      .restore(agent, item.refId)
      .catch((error: Error & { reason: string }) => error.reason);
    if (typeof answer === "string") {
      const expected = this.live.length > 0 ? "TRASH_RESTORE_CONFLICT" : item.live.length;
      return { ...nothing, outcome: answer, expected, refused: true };
    }
    const { seq, entries } = answer;
    this.trash.pop();
    this.live = item.live;
    // What was forgotten in the life between is still known.
    for (const [key, at] of item.forgotten) this.forgotten.set(key, Math.max(at, this.forgotten.get(key) ?? 0));
    return { ...nothing, seq, outcome: entries, expected: item.live.length };
  }

  private remove(gone: readonly Live[]): void {
    for (const entry of gone)
      this.forgotten.set(
        identity(entry, entry.first),
        Math.max(this.clock, this.forgotten.get(identity(entry, entry.first)) ?? 0),
      );
    this.live = this.live.filter((entry) => !gone.includes(entry));
  }
}
