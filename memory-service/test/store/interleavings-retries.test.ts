import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AppendOutcome } from "../../src/store/store.js";
import { agent, changesAfter, entry, listAll, naiveRead, openStore, temporaryRoot } from "./support.js";

const HOUR_MS = 3600 * 1000;
const path = (root: string): string => join(root, "agent", "x", "episodic.jsonl");
/** `stored`, `already`, or why not. */
const of = (outcome: AppendOutcome): string =>
  outcome.status === "refused" ? ((outcome.error as { reason?: string }).reason ?? "?") : outcome.status;

test.each(["one after the other", "queued at once"])(
  "forget, then remember the same id with other text, %s: it is another entry",
  async (how) => {
    const root = temporaryRoot();
    const store = await openStore({ root });
    await store.append(agent, [entry("a", "the first text"), entry("b", "two")]);
    const forgetting = store.forget(agent, "a");
    if (how === "one after the other") await forgetting;
    const second = await store.append(agent, [entry("a", "the second text")]);
    expect(await forgetting).toMatchObject({ copies: 1, seq: 3 });
    expect(second.outcomes).toMatchObject([{ status: "stored", entry: { seq: 4, ord: 4 } }]);
    expect(store.counters.commits).toBe(3);
    expect(readFileSync(path(root), "utf8")).not.toContain("the first text");

    const retries = [entry("a", "the second text"), entry("a", "the first text")];
    const check = async (one: typeof store): Promise<void> => {
      expect((await one.append(agent, retries)).outcomes.map(of)).toEqual(["already", "ENTRY_EXISTS"]);
      expect((await listAll(one, { order: "oldest" })).map(({ id, text, seq }) => [id, text, seq])).toEqual([
        ["b", "two", 2],
        ["a", "the second text", 4],
      ]);
      const { changes } = await changesAfter(one, 2);
      expect(changes.at(-1)).toMatchObject({ upserted: { id: "a", text: "the second text", seq: 4 } });
    };
    await check(store);
    await store.close();
    expect(naiveRead(root).map(({ id, text }) => [id, text])).toEqual([
      ["b", "two"],
      ["a", "the second text"],
    ]);
    const again = await openStore({ root });
    await check(again);
    await again.forget(agent, "a");
    expect((await again.append(agent, retries)).outcomes.map(of)).toEqual(["ENTRY_FORGOTTEN", "ENTRY_FORGOTTEN"]);
  },
);

test("a retry of Remember after Forget is refused for 24 hours: queued at once, after a compaction, after a restart", async () => {
  const root = temporaryRoot();
  let now = 1_700_000_000_000;
  const a = entry("a", "x".repeat(2000), { meta: '{"n":1}' });
  const first = await openStore({ root, now: () => now, compactMinBytes: 500 });
  const [stored, forgot, retried] = await Promise.all([
    first.append(agent, [a]),
    first.forget(agent, "a"),
    first.append(agent, [a]),
  ]);
  expect(stored.outcomes.map(of)).toEqual(["stored"]);
  expect(forgot.copies).toBe(1);
  expect(retried.outcomes.map(of)).toEqual(["ENTRY_FORGOTTEN"]);
  await expect.poll(() => first.counters.compactions).toBe(1);
  const bytes = readFileSync(path(root));
  expect((await first.append(agent, [a])).outcomes.map(of)).toEqual(["ENTRY_FORGOTTEN"]);
  await first.close();
  now += 24 * HOUR_MS - 1;
  const second = await openStore({ root, now: () => now });
  expect((await second.append(agent, [a])).outcomes.map(of)).toEqual(["ENTRY_FORGOTTEN"]);
  expect(readFileSync(path(root))).toEqual(bytes);
  // Its other content is what makes it another entry.
  for (const other of [{ ...a, text: "other" }, { ...a, meta: '{"n":2}' }, { ...a, kind: "semantic" } as const]) {
    expect((await second.append(agent, [other])).outcomes.map(of)).toEqual(["stored"]);
    await second.forget(agent, "a");
  }
  now += 2;
  expect((await second.append(agent, [a])).outcomes.map(of)).toEqual(["stored"]);
});

test("a retry after PatchMeta returns the entry as it is now and writes nothing, also after a compaction and a restart", async () => {
  const root = temporaryRoot();
  const sent = entry("a", "the text", { meta: '{"n":0}' });
  const first = await openStore({ root, compactMinBytes: 500 });
  await first.append(agent, [entry("waste", "x".repeat(2000)), sent]);
  await first.patch(agent, "a", () => '{"n":1}');
  await first.patch(agent, "a", () => '{"n":2}');
  const check = async (store: typeof first, seq: number): Promise<void> => {
    const bytes = readFileSync(path(root));
    const answer = await store.append(agent, [sent]);
    expect(answer.outcomes).toMatchObject([{ status: "already", entry: { meta: '{"n":2}', seq: 4, ord: 2 } }]);
    expect(answer.seq).toBe(seq);
    // What it is now is not what was sent first.
    expect((await store.append(agent, [{ ...sent, meta: '{"n":2}' }])).outcomes.map(of)).toEqual(["ENTRY_EXISTS"]);
    expect(readFileSync(path(root))).toEqual(bytes);
  };
  await check(first, 4);
  await first.forget(agent, "waste");
  await expect.poll(() => first.counters.compactions).toBe(1);
  await check(first, 5);
  await first.close();
  const second = await openStore({ root });
  await check(second, 5);
  await second.forget(agent, "a");
  expect((await second.append(agent, [sent])).outcomes.map(of)).toEqual(["ENTRY_FORGOTTEN"]);
  expect((await second.append(agent, [{ ...sent, meta: '{"n":2}' }])).outcomes.map(of)).toEqual(["stored"]);
});

test("a retry of what was cleared, stored again a day later and forgotten is refused, also after a restart", async () => {
  const root = temporaryRoot();
  let now = 1_700_000_000_000;
  const store = await openStore({ root, now: () => now });
  await store.append(agent, [entry("a", "one")]);
  await store.clear(agent, ["episodic"]);
  now += 25 * 3600 * 1000;
  await store.append(agent, [entry("a", "one")]);
  await store.forget(agent, "a");
  await store.close();
  const again = await openStore({ root, now: () => now });
  expect(await again.append(agent, [entry("a", "one")])).toMatchObject({ outcomes: [{ status: "refused" }] });
});
