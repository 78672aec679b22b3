import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type JsonlStore, openJsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import { KINDS, type Kind, type NewEntry, type StoredEntry } from "../../src/store/store.js";
import { agent, changesAfter, exportText, listAll, naiveRead, recallAll } from "./support.js";

// Random histories of one owner against a model that is a plain list.

type Op =
  | { op: "append"; entries: NewEntry[] }
  | { op: "forget"; id: string }
  | { op: "patch"; id: string; meta: string }
  | { op: "clear"; kinds: Kind[] }
  | { op: "reopen" | "softDelete" | "restore" | "hardDelete" };

interface Live extends StoredEntry {
  first: string;
}

class Model {
  live: Live[] = [];
  forgotten = new Set<string>();
  trash: { refId: string; live: Live[]; forgotten: Set<string> }[] = [];

  sorted(kinds: readonly Kind[] = KINDS): Live[] {
    return this.live
      .filter((entry) => kinds.includes(entry.kind))
      .sort((a, b) => b.ts - a.ts || b.ord - a.ord || KINDS.indexOf(b.kind) - KINDS.indexOf(a.kind));
  }
}

const identity = ({ id, kind, text }: NewEntry, first: string): string => JSON.stringify([id, kind, text, first]);

const kind = fc.constantFrom(...KINDS);
const id = fc.constantFrom("a", "b", "c", "d", "e");
const meta = fc.constantFrom("", '{"n":1}', '{"n":9007199254740993,"é":[1]}');
const newEntry: fc.Arbitrary<NewEntry> = fc.record({
  id,
  kind,
  text: fc.constantFrom("Straße", "STRASSE und mehr", "東京タワー", "plain", 'quo"te\n\\', "x".repeat(300)),
  ts: fc.integer({ min: 1000, max: 1004 }),
  meta,
});
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant("append" as const),
      entries: fc.array(newEntry, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("forget" as const), id }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("patch" as const),
      id,
      meta: fc.constantFrom('{"p":1}', '{"p":2}', '{"n":1}'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant("clear" as const), kinds: fc.subarray([...KINDS], { minLength: 1 }) }),
  },
  { weight: 3, arbitrary: fc.constant({ op: "reopen" as const }) },
  { weight: 1, arbitrary: fc.constantFrom<Op>({ op: "softDelete" }, { op: "restore" }, { op: "hardDelete" }) },
);

test("random histories agree with a plain list, also after reopening, compaction and trash", {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(op, { minLength: 1, maxLength: 25 }), async (ops) => {
      const root = mkdtempSync(join(tmpdir(), "reverie-model-"));
      const options = { root, durability: "none" as const, compactMinBytes: 200, reserveBytes: 0 };
      let store = await openJsonlStore(options);
      try {
        const model = new Model();
        const replica = new Replica();
        let lastSeq = 0;
        for (const step of ops) {
          if (step.op === "reopen") {
            await store.close();
            store = await openJsonlStore(options);
          } else {
            const seq = await run(store, model, step);
            expect(seq, "seq never falls").toBeGreaterThanOrEqual(seq === 0 ? 0 : lastSeq);
            lastSeq = Math.max(lastSeq, seq);
          }
          await compare(store, model, replica);
        }
        await store.close();
        const seen = naiveRead(root).map(({ id, text, kind }) => `${kind} ${id} ${text}`);
        expect(seen.sort()).toEqual(model.live.map(({ id, text, kind }) => `${kind} ${id} ${text}`).sort());
      } finally {
        await store.close();
        rmSync(root, { recursive: true });
      }
    }),
    { numRuns: Number(process.env.MODEL_RUNS ?? 150) },
  );
});

/** Returns the seq that the reply carried; 0 where it says nothing of it. */
async function run(store: JsonlStore, model: Model, step: Op): Promise<number> {
  switch (step.op) {
    case "append": {
      const result = await store.append(agent, step.entries);
      step.entries.forEach((entry, at) => {
        const outcome = result.outcomes[at];
        const present = model.live.find(({ id }) => id === entry.id);
        if (present !== undefined) {
          const same = identity(present, present.first) === identity(entry, entry.meta);
          expect(outcome.status).toBe(same ? "already" : "refused");
          if (outcome.status !== "refused") expect(outcome.entry.meta).toBe(present.meta);
        } else if (model.forgotten.has(identity(entry, entry.meta))) {
          expect(outcome).toMatchObject({ status: "refused", error: { reason: "ENTRY_FORGOTTEN" } });
        } else {
          expect(outcome).toMatchObject({ status: "stored", entry });
          if (outcome.status === "stored") model.live.push({ ...outcome.entry, first: entry.meta });
        }
      });
      return result.seq;
    }
    case "forget": {
      const result = await store.forget(agent, step.id);
      const present = model.live.find(({ id }) => id === step.id);
      expect(result.copies).toBe(present === undefined ? 0 : 1);
      if (present !== undefined) model.forgotten.add(identity(present, present.first));
      model.live = model.live.filter((entry) => entry !== present);
      return result.seq;
    }
    case "patch": {
      const result = await store.patch(agent, step.id, () => step.meta);
      const present = model.live.find(({ id }) => id === step.id);
      expect(result.copies).toBe(present === undefined ? 0 : 1);
      if (present !== undefined) {
        expect(result.entry).toMatchObject({ id: step.id, meta: step.meta, ord: present.ord, ts: present.ts });
        model.live[model.live.indexOf(present)] = { ...present, meta: step.meta, seq: result.entry?.seq ?? 0 };
      }
      return result.seq;
    }
    case "clear": {
      const result = await store.clear(agent, step.kinds);
      const gone = model.live.filter((entry) => step.kinds.includes(entry.kind));
      expect(result.removed).toBe(gone.length);
      for (const entry of gone) model.forgotten.add(identity(entry, entry.first));
      model.live = model.live.filter((entry) => !gone.includes(entry));
      return result.seq;
    }
    case "softDelete": {
      const result = await store.softDelete(agent, "");
      expect(result.moved).toBe(model.live.length > 0);
      if (!result.moved) return 0;
      model.trash.push({ refId: result.ref.refId, live: model.live, forgotten: model.forgotten });
      model.live = [];
      model.forgotten = new Set();
      return result.seq;
    }
    case "restore": {
      const item = model.trash.at(-1);
      if (item === undefined) return 0;
      const restored = store.restore(agent, item.refId);
      if (model.live.length > 0) {
        await expect(restored).rejects.toMatchObject({ reason: "TRASH_RESTORE_CONFLICT" });
        return 0;
      }
      const { entries, seq } = await restored;
      expect(entries).toBe(item.live.length);
      model.trash.pop();
      model.live = item.live;
      // What was forgotten in the life between is still known.
      model.forgotten = new Set([...item.forgotten, ...model.forgotten]);
      return seq;
    }
    case "reopen":
      return 0;
    case "hardDelete": {
      const item = model.trash.pop();
      if (item === undefined) return 0;
      expect((await store.hardDelete(agent, item.refId)).freedBytes).toBeGreaterThan(0);
      await expect(store.restore(agent, item.refId)).rejects.toMatchObject({ reason: "TRASH_NOT_FOUND" });
      return 0;
    }
  }
}

/** What somebody who watches knows. */
class Replica {
  entries = new Map<string, StoredEntry>();
  cursor = 0;

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
      this.entries.clear();
      this.cursor = 0;
      await this.follow(store);
    }
  }
}

const bare = ({ id, kind, text, ts, meta, seq, ord }: StoredEntry): StoredEntry => ({
  id,
  kind,
  text,
  ts,
  meta,
  seq,
  ord,
});

async function compare(store: JsonlStore, model: Model, replica: Replica): Promise<void> {
  const expected = model.sorted().map(bare);
  expect(await listAll(store, { limit: 2 })).toEqual(expected);
  expect(await listAll(store, { limit: 3, order: "oldest" })).toEqual([...expected].reverse());
  expect((await recallAll(store, "")).entries).toEqual(expected);
  const street = await recallAll(store, "strasse");
  expect(street.entries).toEqual(expected.filter(({ text }) => /stra(ß|ss)e/i.test(text)));
  expect(street.summary).toMatchObject({
    returned: street.entries.length,
    matched: street.entries.length,
    truncated: false,
  });
  expect((await recallAll(store, "京", { since: 1002 })).entries).toEqual(
    expected.filter(({ text, ts }) => text.includes("京") && ts >= 1002),
  );
  expect((await recallAll(store, "E\n\\")).entries).toEqual(expected.filter(({ text }) => text.includes("te\n\\")));
  const exported = (await exportText(store)).split("\n").filter((line) => line !== "");
  expect(exported.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(
    KINDS.flatMap((kind) => model.live.filter((entry) => entry.kind === kind).sort((a, b) => a.ord - b.ord)).map(
      ({ id }) => id,
    ),
  );
  await replica.follow(store);
  expect([...replica.entries.values()].map(bare).sort((a, b) => a.seq - b.seq)).toEqual(
    [...expected].sort((a, b) => a.seq - b.seq),
  );
}
