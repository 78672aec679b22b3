import type { Fs } from "../../../memory-service/src/store/jsonl/fs.js";
import { type JsonlStore, openJsonlStore } from "../../../memory-service/src/store/jsonl/jsonl-store.js";
import { KINDS, type Kind, type OwnerRef } from "../../../memory-service/src/store/store.js";
import { ExpectedOwner, type Seen } from "../expected-owner.js";

export const owners: readonly OwnerRef[] = [
  { kind: "agent", id: "x" },
  { kind: "agent", id: "y" },
  { kind: "user", id: "z" },
];

/** Calls to one owner of a store, with what its replies promise. */
export class Promised {
  readonly expected = new ExpectedOwner();

  constructor(readonly owner: OwnerRef) {}

  async append(store: JsonlStore, ids: readonly string[], kind: Kind = "episodic"): Promise<void> {
    const sent = ids.map((id) => ({ id, kind, text: `text of ${id} `.repeat(8), metaJson: '{"n":0}' }));
    const entries = sent.map((one) => this.expected.remember(one));
    const { outcomes } = await store.append(
      this.owner,
      sent.map(({ metaJson, ...one }) => ({ ...one, meta: metaJson, ts: 1_700_000_000_000 })),
    );
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === "refused") throw outcome.error;
      this.expected.remembered(entries[i], outcome.entry.seq);
    }
  }

  async forget(store: JsonlStore, id: string): Promise<void> {
    const entry = this.expected.entries.get(id)!;
    this.expected.forget(entry);
    this.expected.forgot(entry, (await store.forget(this.owner, id)).seq);
  }

  async patch(store: JsonlStore, id: string, meta: string): Promise<void> {
    const entry = this.expected.entries.get(id)!;
    this.expected.patch(entry, meta);
    this.expected.patched(entry, meta, (await store.patch(this.owner, id, () => meta)).seq);
  }

  async clear(store: JsonlStore, kind: Kind): Promise<void> {
    this.expected.clear(kind);
    this.expected.cleared(kind, (await store.clear(this.owner, [kind])).seq);
  }

  async trash(store: JsonlStore): Promise<void> {
    this.expected.place = "unknown";
    const { ref, seq } = await store.softDelete(this.owner, "");
    this.expected.place = "trash";
    this.expected.acknowledge(seq);
    this.expected.place = "unknown";
    this.expected.acknowledge((await store.restore(this.owner, ref.refId)).seq);
    this.expected.place = "live";
  }

  /** What is wrong in the store; empty when nothing is. `orderly`: the disk wrote nothing early, so no line may be half there. */
  async compare(store: JsonlStore, orderly: boolean): Promise<string[]> {
    const wrong: string[] = [];
    const [ref] = (await store.listTrash(this.owner)).filter(({ hasPayload }) => hasPayload);
    if (ref !== undefined && this.expected.place === "live") wrong.push("the owner is in the trash");
    if (ref !== undefined) await store.restore(this.owner, ref.refId);
    this.expected.place = "live";
    const { entries, seq } = await store.list(this.owner, {
      kinds: KINDS,
      order: "newest",
      limit: 500,
      maxBytes: 1e6,
      minSeq: 0,
    });
    if (seq < this.expected.seq) wrong.push(`seq went back to ${seq} after ${this.expected.seq}`);
    this.expected.seq = Math.max(seq, this.expected.seq);
    const seen: Seen[] = entries.map(({ id, kind, text, meta }) => ({ id, kind, text, metaJson: meta }));
    const { lost, resurrected } = this.expected.settle(seen);
    const { corruptLines } = await store.describe(this.owner, { minSeq: 0 });
    if (orderly && corruptLines > 0) wrong.push(`${corruptLines} corrupt lines`);
    return [...wrong, ...lost.map((what) => `lost: ${what}`), ...resurrected.map((what) => `back: ${what}`)];
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
