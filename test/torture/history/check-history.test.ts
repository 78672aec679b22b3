import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkHistory } from "./check-history.js";
import { checkWatch } from "./check-watch.js";
import { keepHistory, readHistory } from "./kept-history.js";
import type { Item, Operation, Reply, Version } from "./operation.js";

const item = (id: string, text = "one"): Item => ({ id, kind: "episodic", text, ts: 1, meta: "" });
const version = (id: string, seq: number, text = "one"): Version => ({ ...item(id, text), seq });
const remember = (entry: Item, reply?: Reply<"remember"> | { refused: string }) => ({
  call: "remember" as const,
  item: entry,
  ...(reply && { reply }),
});
const stores = (id: string, seq: number, text = "one") =>
  remember(item(id, text), { seq, entry: version(id, seq, text), already: false });
const repeats = (id: string, seq: number, storedAt = seq) =>
  remember(item(id), { seq, entry: version(id, storedAt), already: true });
const forgets = (id: string, seq: number, found = true) => ({ call: "forget" as const, id, reply: { seq, found } });
const patches = (id: string, seq: number, meta: string) => ({
  call: "patch" as const,
  id,
  patch: JSON.parse(meta) as Record<string, unknown>,
  reply: { seq, entry: { ...version(id, seq), meta } },
});
const lists = (seq: number, ...entries: Version[]) => ({ call: "list" as const, minSeq: 0, reply: { seq, entries } });
const clears = (seq: number, removed: number) => ({
  call: "clear" as const,
  kinds: ["episodic" as const, "semantic" as const],
  reply: { seq, removed },
});

type Step = ReturnType<typeof stores> | ReturnType<typeof forgets> | ReturnType<typeof lists> | object;

/** One after the other, or where `[begin, end]` comes with them, then. */
function history(...steps: (Step | [Step, number, number])[]): Operation[] {
  return steps.map((step, i) =>
    Array.isArray(step)
      ? ({ ...step[0], begin: step[1], end: step[2] } as Operation)
      : ({ ...step, begin: i * 10, end: i * 10 + 5 } as Operation),
  );
}

const violations = (...steps: Parameters<typeof history>): readonly string[] =>
  checkHistory(history(...steps)).violations;
const never = Number.POSITIVE_INFINITY;

test("a history of one call after the other is in order", () => {
  expect(
    violations(
      { call: "get", id: "a", minSeq: 0, reply: { refused: "ENTRY_NOT_FOUND" } },
      stores("a", 1),
      repeats("a", 1),
      remember(item("a", "two"), { refused: "ENTRY_EXISTS" }),
      lists(1, version("a", 1)),
      patches("a", 2, '{"p":1}'),
      forgets("a", 3),
      forgets("a", 3, false),
      remember(item("a"), { refused: "ENTRY_FORGOTTEN" }),
      stores("a", 4, "two"),
      clears(5, 1),
      clears(5, 0),
      lists(5),
    ),
  ).toEqual([]);
});

test("calls that overlap may come in either order", () => {
  expect(
    violations([stores("b", 2), 0, 20], [stores("a", 1), 5, 10], [lists(2, version("b", 2), version("a", 1)), 6, 30]),
  ).toEqual([]);
  expect(violations([forgets("a", 1, false), 0, 20], [stores("a", 1), 5, 30], lists(1, version("a", 1)))).toEqual([]);
});

test("a batch answers all its calls with its last seq", () => {
  const stored = (id: string, seq: number, replied: number) =>
    remember(item(id), { seq: replied, entry: version(id, seq), already: false });
  const begin: [Step, number, number] = [stores("a", 1), 0, 1];
  const batch = (at: number): [Step, number, number][] => [
    [forgets("a", 3), 10, 20],
    [stored("c", at, 3), 10, 20],
  ];
  expect(violations(begin, ...batch(2), [lists(3, version("c", 2)), 30, 31])).toEqual([]);
  expect(violations(begin, ...batch(3), [lists(3, version("c", 3)), 30, 31])).toEqual([]);
  expect(violations(begin, ...batch(4), [lists(3, version("c", 4)), 30, 31])).not.toEqual([]);
  expect(violations(begin, ...batch(1), [lists(3, version("c", 1)), 30, 31])).not.toEqual([]);
});

test("what was cut off may have happened, once, or not", () => {
  const unknown = remember(item("a"));
  expect(violations([unknown, 0, never], [repeats("a", 1), 20, 30])).toEqual([]);
  expect(violations([unknown, 0, never], [stores("a", 1), 20, 30])).toEqual([]);
  expect(violations([unknown, 0, never], [lists(0), 20, 30], [lists(1, version("a", 1)), 40, 50])).toEqual([]);
  expect(violations([unknown, 0, 10], [stores("b", 1), 20, 30], [lists(2, version("a", 2)), 40, 50])).not.toEqual([]);
  expect(
    violations([stores("a", 1), 0, 1], [{ call: "forget", id: "a" }, 2, never], [forgets("a", 2, false), 5, 6]),
  ).toEqual([]);
});

test("the search finds which of the cut off calls it was", () => {
  const late = ["a", "b", "c"].map((id): [Step, number, number] => [{ call: "forget", id }, 10, never]);
  expect(
    violations(
      [stores("a", 1), 0, 1],
      [stores("b", 2), 2, 3],
      [stores("c", 3), 4, 5],
      ...late,
      [lists(5, version("b", 2)), 40, 50],
      [lists(6), 60, 70],
    ),
  ).toEqual([]);
});

test("an item of a RememberMany counts once, as stored or as there already", () => {
  const many = (stored: number, already: number, firstSeq: number, seq: number) => ({
    call: "rememberMany" as const,
    items: [item("a"), item("b"), item("c")],
    reply: { stored, already, firstSeq, seq, refusals: [] },
  });
  expect(violations(stores("b", 1), many(2, 1, 2, 3), repeats("c", 3), repeats("a", 3, 2))).toEqual([]);
  expect(violations(stores("b", 1), many(3, 0, 2, 4))).not.toEqual([]);
  expect(violations(stores("b", 1), many(1, 2, 2, 2))).not.toEqual([]);
});

test("the trash takes all of an owner and gives it back", () => {
  const away = { call: "softDelete", reply: { seq: 3, moved: true, refId: "r" } };
  const back = { call: "restore", refId: "r", reply: { seq: 4, entries: 1 } };
  const begin = [stores("a", 1), stores("b", 2, "two")];
  expect(violations(...begin, forgets("b", 3), { ...away, reply: { ...away.reply, seq: 4 } }, lists(0))).toEqual([]);
  expect(
    violations(
      stores("a", 1),
      { ...away, reply: { ...away.reply, seq: 2 } },
      lists(0),
      {
        ...back,
        reply: { seq: 3, entries: 1 },
      },
      lists(3, version("a", 1)),
    ),
  ).toEqual([]);
  expect(violations(...begin, away, lists(2, version("b", 2, "two"), version("a", 1)))).not.toEqual([]);
  expect(violations(...begin, away, back, lists(4, version("a", 1)))).not.toEqual([]);
});

test.each<[string, ...Parameters<typeof history>]>([
  ["a stale read", stores("a", 1), stores("b", 2), lists(1, version("a", 1))],
  ["a read of more than its seq", stores("a", 1), lists(0, version("a", 1))],
  ["a read that ignores min_seq", stores("a", 5), { ...lists(5, version("a", 5)), minSeq: 9 }],
  ["a lost write", stores("a", 1), stores("b", 2), lists(2, version("b", 2))],
  ["a lost write under a seq that is used again", stores("a", 1), stores("b", 1)],
  ["a write applied twice", stores("a", 1), stores("a", 2), lists(2, version("a", 2))],
  ["a retry that shows another seq", stores("a", 1), stores("b", 2), repeats("a", 2, 2)],
  ["seqs against real time", stores("a", 2), stores("b", 1), lists(2, version("a", 2), version("b", 1))],
  ["a forgotten entry that comes back", stores("a", 1), forgets("a", 2), lists(2, version("a", 1))],
  ["a late retry that resurrects", stores("a", 1), forgets("a", 2), stores("a", 3)],
  ["a Forget that found nothing where something was", stores("a", 1), forgets("a", 1, false)],
  ["a Clear that counts wrong", stores("a", 1), stores("b", 2), clears(3, 1)],
  ["a refusal without cause", remember(item("a"), { refused: "ENTRY_EXISTS" })],
  ["a patch that changed the text", stores("a", 1), { ...patches("a", 2, '{"p":1}'), id: "b" }],
  ["an altered text", stores("a", 1), lists(1, version("a", 1, "two"))],
  [
    "an order by something else than time and place",
    stores("a", 1),
    stores("b", 2),
    lists(2, version("a", 1), version("b", 2)),
  ],
])("%s is found", (_name, ...steps) => {
  expect(violations(...steps)).not.toEqual([]);
});

test("a watcher's events are the changes, and all that last", () => {
  const { model } = checkHistory(history(stores("a", 1), stores("b", 2), forgets("a", 3), stores("c", 4)));
  const a = { upserted: version("a", 1) };
  const b = { upserted: version("b", 2) };
  const gone = { deleted: { id: "a", kind: "episodic" as const, seq: 3 } };
  const c = { upserted: version("c", 4) };
  expect(checkWatch([a, b, gone, c], model)).toEqual([]);
  expect(checkWatch([b, c], model)).toEqual([]);
  expect(checkWatch([a, { listed: [version("b", 2)], seq: 3 }, c], model)).toEqual([]);
  expect(checkWatch([a, b, c], model)).toEqual(["watch: wasn't told that a is gone"]);
  expect(checkWatch([b, a, gone, c], model)).toHaveLength(1);
  expect(checkWatch([b, gone, c, { upserted: version("d", 5) }], model)).toHaveLength(2);
  expect(checkWatch([a, b, gone], model)).toHaveLength(1);
});

test("two payloads whose refs nobody was told can come back in either order", () => {
  const deleted: [Step, number, number] = [{ call: "softDelete" as const }, 15, never];
  const deletedToo: [Step, number, number] = [{ call: "softDelete" as const }, 35, never];
  const restores = (refId: string, seq: number) => ({ call: "restore" as const, refId, reply: { seq, entries: 1 } });
  const twice = (first: Version, second: Version) =>
    violations(
      [stores("a", 1), 0, 10],
      deleted,
      [stores("b", 3), 20, 30],
      deletedToo,
      [restores("r", 5), 50, 60],
      [lists(5, first), 70, 80],
      [forgets(first.id, 6), 90, 100],
      [restores("s", 7), 110, 120],
      [lists(7, second), 130, 140],
    );
  expect(twice(version("a", 1), version("b", 3))).toEqual([]);
  expect(twice(version("b", 3), version("a", 1))).toEqual([]);
  expect(twice(version("a", 1), version("a", 1))).not.toEqual([]);
});

test("what was kept of a history gets the same verdict", () => {
  const dir = mkdtempSync(join(tmpdir(), "reverie-history-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const operations = history(stores("a", 1), [{ call: "forget" as const, id: "a" }, 15, never], lists(2));
  const file = keepHistory(dir, { owner: "agent/x", operations, watched: [] });
  expect(readHistory(file)).toEqual({ owner: "agent/x", operations, watched: [] });
});

test("a restore again of what a lost answer had restored finds no payload", () => {
  const away = { call: "softDelete" as const, reply: { seq: 2, moved: true, refId: "r" } };
  const again = { call: "restore" as const, refId: "r", reply: { refused: "TRASH_NOT_FOUND" } };
  const back: [Step, number, number] = [{ call: "restore" as const, refId: "r" }, 30, never];
  const begin: [Step, number, number][] = [
    [stores("a", 1), 0, 10],
    [away, 20, 25],
  ];
  expect(violations(...begin, back, [again, 40, 50], [lists(3, version("a", 1)), 60, 70])).toEqual([]);
  expect(violations(...begin, [again, 40, 50])).not.toEqual([]);
});
