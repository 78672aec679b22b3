import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Fs } from "../../../memory-service/src/store/jsonl/fs.js";
import { type JsonlStore, openJsonlStore } from "../../../memory-service/src/store/jsonl/jsonl-store.js";
import { KINDS, type Kind, type NewEntry, type OwnerRef } from "../../../memory-service/src/store/store.js";
import { ExpectedOwner, type Seen, type Sent } from "../expected-owner.js";
import type { Trace } from "./trace.js";

export const owners: readonly OwnerRef[] = [
  { kind: "agent", id: "x" },
  { kind: "agent", id: "y" },
  { kind: "user", id: "z" },
];

/** What a comparison found. */
export interface Compared {
  /** Empty when nothing is. */
  readonly wrong: readonly string[];
  /** Tails that were put aside. */
  readonly torn: number;
  /** Outcomes that nobody knew before. */
  readonly settled: number;
}

/** Calls to one owner of a store, with what its replies promise. With a trace, the promises are recorded in it. */
export class Promised {
  constructor(
    readonly owner: OwnerRef,
    private readonly trace?: Trace,
    readonly expected = new ExpectedOwner(),
  ) {}

  async append(store: JsonlStore, ids: readonly string[], kind: Kind = "episodic"): Promise<void> {
    const sent = ids.map((id): Sent => ({ id, kind, text: textOf(id), metaJson: '{"n":0}' }));
    this.note((expected) => sent.forEach((one) => void expected.remember(one)));
    const { outcomes } = await store.append(this.owner, sent.map(toNewEntry));
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === "refused") throw outcome.error;
      this.note((expected) => expected.remembered(expected.entries.get(sent[i].id)!, outcome.entry.seq));
    }
  }

  async forget(store: JsonlStore, id: string): Promise<void> {
    this.note((expected) => expected.forget(expected.entries.get(id)!));
    const { seq } = await store.forget(this.owner, id);
    this.note((expected) => expected.forgot(expected.entries.get(id)!, seq));
  }

  async patch(store: JsonlStore, id: string, meta: string): Promise<void> {
    this.note((expected) => expected.patch(expected.entries.get(id)!, meta));
    const { seq } = await store.patch(this.owner, id, () => meta);
    this.note((expected) => expected.patched(expected.entries.get(id)!, meta, seq));
  }

  async clear(store: JsonlStore, kind: Kind): Promise<void> {
    this.note((expected) => expected.clear(kind));
    const { seq } = await store.clear(this.owner, [kind]);
    this.note((expected) => expected.cleared(kind, seq));
  }

  async trash(store: JsonlStore): Promise<void> {
    this.move("unknown");
    const { ref, seq } = await store.softDelete(this.owner, "");
    this.move("trash", seq);
    this.move("unknown");
    this.move("live", (await store.restore(this.owner, ref.refId)).seq);
  }

  /** Compares, and takes what is seen for known. `orderly`: no line may be half there. */
  async compare(store: JsonlStore, orderly: boolean): Promise<Compared> {
    const wrong: string[] = [];
    const [ref] = (await store.listTrash(this.owner)).filter(({ hasPayload }) => hasPayload);
    if (ref !== undefined && this.expected.place === "live") wrong.push("the owner is in the trash");
    if (ref === undefined && this.expected.place === "trash") wrong.push("the owner is not in the trash");
    if (ref !== undefined) await store.restore(this.owner, ref.refId);
    const page = { kinds: KINDS, order: "newest", limit: 500, maxBytes: 1e6, minSeq: 0 } as const;
    const { entries, seq } = await store.list(this.owner, page);
    if (seq < this.expected.seq) wrong.push(`seq went back to ${seq} after ${this.expected.seq}`);
    const seen: Seen[] = entries.map(({ id, kind, text, meta }) => ({ id, kind, text, metaJson: meta }));
    let settled = 0;
    this.note((expected) => {
      expected.place = "live";
      expected.seq = Math.max(seq, expected.seq);
      const verdict = expected.settle(seen);
      if (expected !== this.expected) return;
      settled = verdict.settled;
      wrong.push(...verdict.lost.map((what) => `lost: ${what}`), ...verdict.resurrected.map((what) => `back: ${what}`));
    });
    const { corruptLines, tornTails } = await store.describe(this.owner, { minSeq: 0 });
    if (orderly && corruptLines > 0) wrong.push(`${corruptLines} corrupt lines`);
    return { wrong, torn: tornTails, settled };
  }

  /** What was forgotten stays so: a late retry is refused, and no log below the root holds its text. */
  async compareForgotten(store: JsonlStore, root: string): Promise<string[]> {
    const wrong: string[] = [];
    const forgotten = [...this.expected.entries.values()].filter(({ forgotten, present }) => forgotten && !present);
    if (forgotten.length === 0) return wrong;
    const logs = logsOf(join(root, this.owner.kind, this.owner.id));
    for (const { sent } of forgotten) {
      if (logs.some((bytes) => bytes.includes(sent.text))) wrong.push(`the text of ${sent.id}, forgotten, is in a log`);
      const { outcomes } = await store.append(this.owner, [toNewEntry(sent)]);
      if (outcomes[0].status !== "refused") wrong.push(`back: a late retry of ${sent.id}, forgotten, was stored`);
    }
    return wrong;
  }

  private move(place: ExpectedOwner["place"], seq?: number): void {
    this.note((expected) => {
      expected.place = place;
      if (seq !== undefined) expected.acknowledge(seq);
    });
  }

  private note(apply: (expected: ExpectedOwner) => void): void {
    apply(this.expected);
    this.trace?.promise((all) => apply(all.get(this.owner.id)!));
  }
}

/** Some fill several pages of a log, most but a part of one. */
function textOf(id: string): string {
  return `text of ${id} `.repeat(id.length === 1 && "aeglq".includes(id) ? 220 : 8);
}

function toNewEntry({ metaJson, ...sent }: Sent): NewEntry {
  return { ...sent, meta: metaJson, ts: 1_700_000_000_000 };
}

function logsOf(directory: string): string[] {
  try {
    const names = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
    return names.map((name) => readFileSync(join(directory, name), "utf8"));
  } catch {
    return [];
  }
}

export function openOn(fs: Fs, root: string, durability: "fsync" | "none" = "fsync"): Promise<JsonlStore> {
  return openJsonlStore({ root, fs, durability, reserveBytes: 0, compactMinBytes: 512 });
}

/** Every kind of change, with logs made, compacted, cleared, moved away and back. */
export async function playScript(store: JsonlStore, [x, y, z]: readonly Promised[]): Promise<void> {
  // Directories that two owners share are made by whoever comes first.
  await Promise.all([x.append(store, ["a", "b"]), y.append(store, ["c"]), z.append(store, ["d"], "semantic")]);
  await Promise.all([x.append(store, ["e"], "working"), x.append(store, ["f"], "semantic"), y.forget(store, "c")]);
  await x.patch(store, "a", '{"n":1}');
  await Promise.all([x.forget(store, "b"), x.patch(store, "a", '{"n":2}'), z.append(store, ["g", "h"])]);
  await y.append(store, ["i", "j", "k", "l", "m", "n"]);
  for (const id of ["i", "j", "k", "l"]) await y.forget(store, id);
  await z.trash(store);
  await x.clear(store, "working");
  await Promise.all([z.append(store, ["o"]), x.append(store, ["p"], "working"), y.trash(store)]);
  await z.forget(store, "g");
  await x.append(store, ["q"]);
}
