import fc from "fast-check";
import { expect } from "vitest";
import type { JsonlStore, JsonlStoreOptions } from "../../../src/store/jsonl/jsonl-store.js";
import { KINDS, type StoredEntry } from "../../../src/store/store.js";
import { agent, changesAfter, exportText, listAll, naiveRead, recallAll } from "../support.js";
import { type Command, history } from "./commands.js";
import type { Invariant } from "./holds.js";
import { type Sabotage, type Step, World } from "./world.js";

interface Checks {
  /** After each command. */
  readonly each?: (world: World, step: Step, logsBefore: Record<string, string>) => Promise<void> | void;
  /** After the store was closed. */
  readonly closed?: (world: World) => Promise<void> | void;
}

/** Random histories of one owner, with these checks. */
function always(make: () => Checks, options: Partial<JsonlStoreOptions> = {}): Invariant {
  return (sabotage?: Sabotage) =>
    fc.asyncProperty(history, async (commands: readonly Command[]) => {
      const world = new World(sabotage, options);
      const { each, closed } = make();
      await world.open();
      try {
        for (const command of commands) {
          const before = world.logs();
          const step = await world.perform(command);
          await each?.(world, step, before);
        }
        await world.store.close();
        await closed?.(world);
      } finally {
        await world.end();
      }
    }) as ReturnType<Invariant>;
}

const bySeq = (a: StoredEntry, b: StoredEntry): number => a.seq - b.seq;

export const acknowledgedStays = always(() => ({
  each: async ({ store, live }) => {
    for (const { first: _, ...entry } of live)
      expect(await store.get(agent, entry.id, { minSeq: 0 })).toMatchObject({ entry, copies: 1 });
  },
}));

export const forgottenIsGone = always(() => {
  const gone = new Map<string, { text: string }>();
  return {
    each: async (world, { gone: now, command }) => {
      if (command.do === "softDelete" || command.do === "restore") gone.clear();
      for (const { id, kind, text } of now) gone.set(JSON.stringify({ id, kind }), { text });
      for (const { id, kind } of world.live) gone.delete(JSON.stringify({ id, kind }));
      const logs = world.logs();
      for (const key of gone.keys()) {
        const { id, kind } = JSON.parse(key) as { id: string; kind: string };
        expect((await world.store.get(agent, id, { minSeq: 0 })).entry?.kind).not.toBe(kind);
        expect(logs[`${kind}.jsonl`] ?? "").not.toContain(`{"id":"${id}","kind"`);
      }
    },
  };
});

export const refusedChangesNothing = always(
  () => ({
    each: (world, { refused }, before) => {
      if (refused) expect(world.logs()).toEqual(before);
    },
  }),
  // It would write by itself.
  { compactMinBytes: Number.MAX_SAFE_INTEGER },
);

export const plainReaderSeesLive = always(() => ({
  closed: ({ root, live }) => {
    const names = (entries: readonly { kind: string; id: string; text: string }[]): string[] =>
      entries.map(({ id, text, kind }) => `${kind} ${id} ${text}`).sort();
    expect(names(naiveRead(root))).toEqual(names(live));
  },
}));

export const seqNeverFalls = always(() => {
  let last = 0;
  return {
    each: (_world, { seq, seqs }) => {
      for (const own of seqs) {
        expect(own, "above every seq before").toBeGreaterThan(last);
        last = own;
      }
      if (seq === undefined || seq === 0) return;
      expect(seq).toBeGreaterThanOrEqual(last);
      last = seq;
    },
  };
});

export const pagesReachAllOnce = always(() => ({
  each: async (world) => {
    const expected = world.sorted();
    expect(await listAll(world.store, { limit: 2 })).toEqual(expected);
    expect(await listAll(world.store, { limit: 3, order: "oldest" })).toEqual([...expected].reverse());
    const two = KINDS.slice(0, 2);
    expect(await listAll(world.store, { limit: 1, kinds: two })).toEqual(world.sorted(two));
  },
}));

export const recallIsAScan = always(() => ({
  each: async (world) => {
    const expected = world.sorted();
    const found = async (text: string, since?: number) =>
      (await recallAll(world.store, text, { ...(since !== undefined && { since }) })).entries;
    expect(await found("")).toEqual(expected);
    expect(await found("strasse")).toEqual(expected.filter(({ text }) => /stra(ß|ss)e/i.test(text)));
    expect(await found("京", 1002)).toEqual(expected.filter(({ text, ts }) => text.includes("京") && ts >= 1002));
    expect(await found("E\n\\")).toEqual(expected.filter(({ text }) => text.includes("te\n\\")));
  },
}));

export const replayIsIdempotent = always(() => ({
  each: async (world, _step) => {
    const shown = await everything(world.store);
    await world.reopen();
    const before = world.logs();
    expect(await everything(world.store)).toEqual(shown);
    await world.reopen();
    expect(await everything(world.store)).toEqual(shown);
    expect(world.logs()).toEqual(before);
  },
}));

export const retryRule = always(() => ({
  each: (_world, { outcome, expected }) => expect(outcome).toEqual(expected),
}));

export const watcherKnowsAll = always(() => {
  const replica = new Replica();
  return {
    each: async (world) => {
      await replica.follow(world.store);
      expect([...replica.entries.values()].sort(bySeq)).toEqual(world.sorted().sort(bySeq));
    },
  };
});

/** All that a reader can see of an owner. `late` speaks of lines that may be gone. */
async function everything(store: JsonlStore) {
  const { exists, seq, floor, kinds, corruptLines, droppedByCaps } = await store.describe(agent, { minSeq: 0 });
  const entries = await listAll(store);
  return {
    exists,
    seq,
    floor,
    counts: kinds.map(({ kind, entries }) => [kind, entries]),
    corruptLines,
    droppedByCaps,
    entries,
    lines: (await exportText(store)).replace(/,"late":true|,"crc":\d+(?=\})/g, ""),
  };
}

/** What somebody who watches, and lists anew when told to, knows. */
class Replica {
  entries = new Map<string, StoredEntry>();
  private cursor = 0;

  async follow(store: JsonlStore): Promise<void> {
    try {
      const { changes, cursor } = await changesAfter(store, this.cursor);
      for (const change of changes) {
        if ("upserted" in change) this.entries.set(change.upserted.id, change.upserted);
        else if (this.entries.get(change.deleted.id)?.kind === change.deleted.kind)
          this.entries.delete(change.deleted.id);
      }
      this.cursor = cursor;
    } catch (error) {
      expect(error).toMatchObject({ reason: "WATCH_CURSOR_EXPIRED" });
      const entries = await listAll(store);
      const { seq } = await store.describe(agent, { minSeq: 0 });
      this.entries = new Map(entries.map((entry) => [entry.id, entry]));
      this.cursor = seq;
    }
  }
}
