import { expect, test } from "vitest";
import { ExpectedOwner, type Sent } from "./expected-owner.js";

const sent = (id: string, more: Partial<Sent> = {}): Sent => ({
  id,
  kind: "episodic",
  text: `text of ${id}`,
  metaJson: "",
  ...more,
});
const clean = { lost: [], resurrected: [] };

function stored(owner: ExpectedOwner, entry: Sent, seq: number) {
  const expected = owner.remember(entry);
  owner.remembered(expected, seq);
  return expected;
}

test("an acknowledged entry that is missing or altered is lost", () => {
  const owner = new ExpectedOwner();
  for (const [i, id] of ["a", "b", "c", "d"].entries()) stored(owner, sent(id), i + 1);
  const seen = [sent("a"), sent("b", { text: "other" }), sent("c", { metaJson: '{"n":1}' })];
  expect(owner.settle(seen).lost).toEqual(["b altered", "c altered", "d"]);
});

test("an entry that is there twice is reported", () => {
  const owner = new ExpectedOwner();
  stored(owner, sent("a"), 1);
  expect(owner.settle([sent("a"), sent("a")]).lost).toHaveLength(1);
});

test("a forgotten or cleared entry that is there is resurrected, as is one that nobody sent", () => {
  const owner = new ExpectedOwner();
  owner.forgot(stored(owner, sent("a"), 1), 2);
  stored(owner, sent("b", { kind: "working" }), 3);
  owner.clear("working");
  owner.cleared("working", 4);
  const seen = [sent("a"), sent("b", { kind: "working" }), sent("c")];
  expect(owner.settle(seen).resurrected).toEqual(["a", "b", "c, which nobody sent,"]);
});

test("what was under way may be either, and is settled then", () => {
  for (const there of [true, false]) {
    const owner = new ExpectedOwner();
    owner.forget(stored(owner, sent("forgetting"), 1));
    owner.remember(sent("remembering"));
    const seen = there ? [sent("forgetting"), sent("remembering")] : [];
    expect(owner.settle(seen)).toMatchObject({ ...clean, settled: 2 });
    expect(owner.settle(there ? [] : [sent("forgetting"), sent("remembering")])).toEqual({
      lost: there ? ["forgetting", "remembering"] : [],
      resurrected: there ? [] : ["forgetting", "remembering"],
      settled: 0,
    });
  }
});

test("a patch under way leaves the old meta or the new one, and nothing else", () => {
  for (const [metaJson, lost] of [
    ['{"n":1}', []],
    ['{"n":2}', []],
    ['{"n":3}', ["a altered"]],
  ] as const) {
    const owner = new ExpectedOwner();
    owner.patch(stored(owner, sent("a", { metaJson: '{"n":1}' }), 1), '{"n":2}');
    expect(owner.settle([sent("a", { metaJson })]).lost).toEqual(lost);
  }
});

test("a clearing takes what has a lower seq, whichever answer comes first", () => {
  const owner = new ExpectedOwner();
  const working = (id: string) => sent(id, { kind: "working" });
  stored(owner, working("before"), 1);
  const overtaken = owner.remember(working("overtaken"));
  owner.clear("working");
  stored(owner, working("after"), 4);
  owner.cleared("working", 3);
  owner.remembered(overtaken, 2);
  expect(owner.settle([working("after")])).toMatchObject(clean);
  expect(owner.settle([working("after"), working("before")]).resurrected).toEqual(["before"]);
  expect(owner.settle([]).lost).toContain("after");
});

test("a clearing under way may have taken what was acknowledged beside it", () => {
  const owner = new ExpectedOwner();
  owner.clear("working");
  stored(owner, sent("a", { kind: "working" }), 1);
  stored(owner, sent("b"), 2);
  expect(owner.settle([]).lost).toEqual(["b"]);
});

test("a cap may take all but the newest acknowledged entry", () => {
  const owner = new ExpectedOwner("episodic");
  for (const [i, id] of ["a", "b", "c"].entries()) stored(owner, sent(id), i + 1);
  stored(owner, sent("other", { kind: "semantic" }), 4);
  expect(owner.settle([sent("c"), sent("other", { kind: "semantic" })])).toMatchObject(clean);
  stored(owner, sent("d"), 5);
  expect(owner.settle([sent("c")]).lost).toEqual(["other", "d"]);
});

test("an owner that was being discarded is there whole or not at all", () => {
  for (const [seen, lost] of [
    [[], []],
    [[sent("a"), sent("b")], []],
    [[sent("a")], ["b"]],
  ] as const) {
    const owner = new ExpectedOwner();
    stored(owner, sent("a"), 1);
    stored(owner, sent("b"), 2);
    owner.discard();
    expect(owner.settle(seen).lost).toEqual(lost);
  }
});

test("a discarded owner may read as one that never was, until its next life is acknowledged", () => {
  const owner = new ExpectedOwner();
  stored(owner, sent("a"), 1);
  expect(owner.mayBeUnborn).toBe(false);
  owner.discard();
  expect(owner.mayBeUnborn).toBe(true);
  owner.discarded();
  expect(owner.mayBeUnborn).toBe(true);
  stored(owner, sent("b"), 3);
  expect(owner.mayBeUnborn).toBe(false);
});

test("what a discarded owner held doesn't come back with its next life", () => {
  const owner = new ExpectedOwner();
  stored(owner, sent("a"), 1);
  owner.discard();
  owner.discarded();
  stored(owner, sent("b"), 3);
  expect(owner.settle([sent("a"), sent("b")])).toMatchObject({ lost: [], resurrected: ["a"] });
});

test("a file of it names what must be there, and with which meta, and what is gone", () => {
  const owner = new ExpectedOwner();
  owner.patch(stored(owner, sent("a"), 1), '{"n":2}');
  owner.forgot(stored(owner, sent("b"), 2), 3);
  owner.remember(sent("c"));
  expect(JSON.parse(JSON.stringify(owner))).toEqual({
    place: "live",
    seq: 3,
    discarding: false,
    clearing: [],
    entries: [
      { id: "a", kind: "episodic", text: "text of a", metas: ["", '{"n":2}'], seq: 1, present: true },
      { id: "c", kind: "episodic", text: "text of c", metas: [""], seq: 0, present: false, underway: "remember" },
    ],
    gone: ["b"],
  });
});
