import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { importOwner } from "../../../memory-service/src/domain/import-owner.js";
import { rememberMany } from "../../../memory-service/src/domain/remember-many.js";
import type { JsonlStore, JsonlStoreOptions } from "../../../memory-service/src/store/jsonl/jsonl-store.js";
import { encodeEntry } from "../../../memory-service/src/store/jsonl/line.js";
import {
  KINDS,
  type Kind,
  type NewEntry,
  type OwnerConfig,
  type OwnerRef,
} from "../../../memory-service/src/store/store.js";
import { x, y } from "./store-state.js";

/** What an operation has at hand. */
export interface Stage {
  readonly store: JsonlStore;
  readonly root: string;
  /** The newest of x in the trash before; "" for none. */
  readonly ref: string;
  /** Resolves when the store is at rest: a compaction has ended. */
  readonly settled: () => Promise<void>;
  /** Lets this much time pass at once, milliseconds. */
  readonly elapse: (ms: number) => void;
}

/** One operation, and what it is done to. */
export interface Scenario {
  readonly name: string;
  readonly options?: Partial<JsonlStoreOptions>;
  /** Made once, without faults. */
  readonly setUp: (store: JsonlStore) => Promise<void>;
  /** Then done to the closed directory. */
  readonly spoil?: (root: string) => void;
  /** The operation: throws when it is refused. "open": the store's opening itself, and the owners'. */
  readonly run: "open" | ((stage: Stage) => Promise<void>);
  /** Done without faults just before. */
  readonly ready?: (store: JsonlStore) => Promise<void>;
  /** It ends the store. */
  readonly closes?: boolean;
  /** Owners stay closed until the operation: their opening is part of it. */
  readonly cold?: boolean;
  /** A refusal that says it was done already, by an earlier try whose outcome was unknown. */
  readonly doneBefore?: string;
  /** It has several steps, each of which is whole, but not all together. */
  readonly steps?: boolean;
  /** Refused with anything, it has changed nothing. */
  readonly allOrNothing?: boolean;
  /** Facts with this beginning may be missing while it is unfinished. */
  readonly hides?: string;
  /** Entries of x whose late retry must be refused once it is done. */
  readonly forgotten?: readonly NewEntry[];
  /** What it drops may stay for now. */
  readonly mayLag?: boolean;
}

const DAY_MS = 86_400_000;

export function entry(id: string, kind: Kind = "episodic", textLength = 60): NewEntry {
  return {
    id,
    kind,
    text: `<${id}> `.repeat(Math.ceil(textLength / (id.length + 3))),
    ts: 1_700_000_000_000,
    meta: '{"n":1}',
  };
}

const entries = (ids: string, kind: Kind = "episodic", textLength = 60): NewEntry[] =>
  ids.split(" ").map((id) => entry(id, kind, textLength));

async function append(store: JsonlStore, owner: OwnerRef, items: readonly NewEntry[]): Promise<void> {
  const { outcomes } = await store.append(owner, items);
  for (const outcome of outcomes) if (outcome.status === "refused") throw outcome.error;
}

const config = (more: Partial<OwnerConfig>): OwnerConfig => ({
  allowedKinds: KINDS,
  maxEpisodicBytes: 0,
  maxSemanticBytes: 0,
  ...more,
});

const fill = async (store: JsonlStore): Promise<void> => {
  await append(store, x, [...entries("a b c"), ...entries("s t", "semantic"), ...entries("w", "working")]);
  await append(store, y, entries("o p"));
  await store.patch(x, "b", () => '{"n":2}');
  await store.forget(x, "c");
};

const drain = async (pieces: AsyncGenerator<unknown, unknown>): Promise<void> => {
  for (;;) if ((await pieces.next()).done) return;
};

const never = new AbortController().signal;

const fillAndTrash = async (store: JsonlStore): Promise<void> => {
  await fill(store);
  await store.softDelete(x, "tidy");
};

const logOf = (root: string, kind: Kind = "episodic"): string => join(root, x.kind, x.id, `${kind}.jsonl`);

/** Each changes a store, or reads it, in one way. */
export const scenarios: readonly Scenario[] = [
  { name: "remember", setUp: fill, run: ({ store }) => append(store, x, [entry("new")]), allOrNothing: true },
  {
    name: "remember by a new owner",
    setUp: (store) => append(store, y, entries("o")),
    run: ({ store }) => append(store, x, [entry("new")]),
    allOrNothing: true,
  },
  {
    name: "remember by a new owner above the root's seq",
    setUp: async (store) => {
      await append(store, y, entries("o"));
      await store.softDelete(y, "");
    },
    run: ({ store }) => append(store, x, [entry("new")]),
    allOrNothing: true,
  },
  {
    name: "append of three kinds",
    setUp: (store) => append(store, x, entries("a")),
    run: ({ store }) =>
      append(
        store,
        x,
        KINDS.map((kind) => entry(`new-${kind}`, kind)),
      ),
    allOrNothing: true,
  },
  {
    name: "append of 300 kB",
    setUp: fill,
    run: ({ store }) => append(store, x, entries("big1 big2 big3", "semantic", 100_000)),
    allOrNothing: true,
  },
  {
    name: "remember many",
    setUp: fill,
    run: async ({ store }) => {
      const drafts = entries("m1 m2 m3 m4 m5");
      const source = async function* () {
        yield drafts.slice(0, 2);
        yield drafts.slice(2);
      };
      const { refused } = await rememberMany({ store, defaults: config({}), now: Date.now }, x, source());
      if (refused.length > 0) throw new Error(refused[0].message);
    },
    allOrNothing: true,
  },
  {
    name: "import",
    setUp: fill,
    run: async ({ store }) => {
      const lines = [...entries("i1 i2 i3"), ...entries("i4", "semantic")].map(
        ({ meta, ...fields }) => `${JSON.stringify({ ...fields, meta: JSON.parse(meta) })}\n`,
      );
      const source = async function* () {
        yield Buffer.from(lines.join(""));
      };
      const { refused } = await importOwner({ store, defaults: config({}), now: Date.now }, x, source());
      if (refused.length > 0) throw new Error(refused[0].message);
    },
    allOrNothing: true,
  },
  {
    name: "list, get, recall and export",
    setUp: fill,
    run: async ({ store }) => {
      await store.list(x, { kinds: KINDS, order: "newest", limit: 2, maxBytes: 1e6, minSeq: 0 });
      await store.get(x, "b", { minSeq: 0 });
      await drain(store.recall(x, { text: "<a>", kinds: KINDS, k: 5, minSeq: 0 }, never));
      await drain(store.export(x, KINDS, never));
    },
    cold: true,
    allOrNothing: true,
  },
  {
    name: "describe, list owners and trash",
    setUp: fillAndTrash,
    run: async ({ store }) => {
      await store.describe(y, { minSeq: 0 });
      await store.listOwners("agent", "", 10);
      await store.listTrash(undefined);
      await store.sweepTrash(true);
    },
    cold: true,
    allOrNothing: true,
  },
  { name: "patch", setUp: fill, run: async ({ store }) => void (await store.patch(x, "a", () => '{"n":3}')) },
  {
    name: "forget",
    setUp: fill,
    run: async ({ store }) => void (await store.forget(x, "a")),
    forgotten: entries("a"),
  },
  {
    name: "remember, forget and patch at once",
    setUp: fill,
    run: async ({ store }) => {
      const all = [
        append(store, x, [entry("new", "semantic")]),
        store.forget(x, "a"),
        store.patch(x, "b", () => '{"n":9}'),
        append(store, y, entries("q")),
      ];
      for (const one of await Promise.allSettled<unknown>(all)) if (one.status === "rejected") throw one.reason;
    },
    steps: true,
    forgotten: entries("a"),
  },
  {
    name: "a cap drops the oldest",
    setUp: async (store) => {
      await store.attach(x, config({ maxEpisodicBytes: 1200 }), true);
      await append(store, x, entries("a b c d e f"));
    },
    run: ({ store }) => append(store, x, entries("g h i j")),
    steps: true,
    mayLag: true,
  },
  {
    name: "compaction",
    options: { compactMinBytes: 1500 },
    setUp: async (store) => {
      await append(store, x, entries("a b c d e f", "episodic", 300));
      for (const id of ["a", "b"]) await store.forget(x, id);
    },
    run: async ({ store, settled }) => {
      await store.forget(x, "c");
      await store.forget(x, "d");
      await settled();
    },
    steps: true,
    forgotten: entries("a b c d", "episodic", 300),
  },
  {
    name: "clear",
    setUp: fill,
    run: async ({ store }) => void (await store.clear(x, KINDS)),
    steps: true,
    forgotten: entries("a c"),
  },
  {
    name: "clear of a log with a torn tail",
    setUp: fill,
    spoil: (root) => appendFileSync(logOf(root), '{"id":"torn","kind":"episo'),
    run: async ({ store }) => void (await store.clear(x, ["episodic"])),
    steps: true,
    forgotten: entries("a c"),
  },
  {
    name: "attach",
    setUp: fill,
    run: async ({ store }) => void (await store.attach(x, config({ maxSemanticBytes: 999 }), true)),
  },
  {
    name: "attach to a new owner",
    setUp: async () => {},
    run: async ({ store }) => void (await store.attach(x, config({}), true)),
  },
  {
    name: "detach",
    setUp: async (store) => void (await store.attach(x, config({}), true)),
    run: async ({ store }) => void (await store.detach(x)),
  },
  { name: "soft delete", setUp: fill, run: async ({ store }) => void (await store.softDelete(x, "tidy")) },
  {
    name: "second soft delete of a day",
    setUp: async (store) => {
      await fillAndTrash(store);
      await append(store, x, entries("second"));
    },
    run: async ({ store }) => void (await store.softDelete(x, "again")),
  },
  {
    name: "restore",
    setUp: fillAndTrash,
    run: async ({ store, ref }) => void (await store.restore(x, ref)),
    doneBefore: "TRASH_NOT_FOUND",
  },
  {
    name: "restore over what was forgotten meanwhile, with other files there",
    setUp: async (store) => {
      await fillAndTrash(store);
      await append(store, x, entries("e f", "working"));
      for (const id of ["e", "f"]) await store.forget(x, id);
      await store.attach(x, config({ maxSemanticBytes: 5000 }), true);
    },
    spoil: (root) => writeFileSync(join(root, x.kind, x.id, "notes.txt"), "theirs"),
    run: async ({ store, ref }) => void (await store.restore(x, ref)),
    doneBefore: "TRASH_NOT_FOUND",
    // The config that is there may be in the payload already.
    hides: "x: {",
    steps: true,
    forgotten: [...entries("e f", "working"), entry("c")],
  },
  {
    name: "hard delete",
    setUp: fillAndTrash,
    run: async ({ store, ref }) => void (await store.hardDelete(x, ref)),
    doneBefore: "TRASH_NOT_FOUND",
  },
  {
    name: "sweep",
    options: { trashRetentionMs: DAY_MS },
    setUp: async (store) => {
      await fillAndTrash(store);
      await store.softDelete(y, "");
    },
    run: async ({ store, root, elapse }) => {
      elapse(2 * DAY_MS);
      await store.sweepTrash(false);
      if (readdirSync(join(root, ".trash")).some((name) => !name.startsWith(".")))
        throw Object.assign(new Error("something stays in the trash"), { reason: "LOG_STOPPED" });
    },
    steps: true,
  },
  { name: "opening of a new directory", setUp: async () => {}, run: "open" },
  { name: "opening", setUp: fillAndTrash, run: "open" },
  {
    name: "opening with a torn tail, a lost newline and leftovers",
    setUp: fill,
    spoil: (root) => {
      appendFileSync(logOf(root), '{"id":"torn","kind":"episo');
      const semantic = readFileSync(logOf(root, "semantic"));
      writeFileSync(logOf(root, "semantic"), semantic.subarray(0, -1));
      writeFileSync(`${logOf(root)}.7.tmp`, "half a copy");
      mkdirSync(join(root, ".trash", ".leaving-0123456789abcdef", "payload"), { recursive: true });
      writeFileSync(join(root, ".trash", ".leaving-0123456789abcdef", "payload", "episodic.jsonl"), "going");
    },
    run: "open",
  },
  {
    name: "opening after an erase that broke off",
    setUp: fill,
    spoil: (root) => {
      // The line of `c` stands again, as if its erase had not reached the disk.
      const line = encodeEntry({ ...entry("c"), seq: 3, ord: 3, late: false });
      const log = readFileSync(logOf(root));
      const at = Number(/"forget":"c".*?"was":\{"at":(\d+)/.exec(log.toString())?.[1]);
      line.copy(log, at, 0, line.length - 1);
      writeFileSync(logOf(root), log);
    },
    run: "open",
    forgotten: entries("c"),
  },
  {
    name: "close, with syncs due",
    options: { durability: "interval", syncIntervalMs: 60_000 },
    setUp: fill,
    ready: (store) => append(store, x, entries("late")),
    run: ({ store }) => store.close(),
    closes: true,
  },
];
