import { expect, test } from "vitest";
import { type Fs, realFs } from "../../../src/store/jsonl/fs.js";
import { KINDS } from "../../../src/store/store.js";
import { agent, entry, openStore } from "../support.js";

test.each([
  ["Clear", 0],
  ["cap", 300],
] as const)("while a %s puts its log in place, what a read shows and its seq are of one state", async (_, cap) => {
  let passed = (): void => {};
  let reached = (): void => {};
  const gate = new Promise<void>((resolve) => {
    passed = resolve;
  });
  const waiting = new Promise<void>((resolve) => {
    reached = resolve;
  });
  let renamed = false;
  const slow: Fs = {
    ...realFs,
    rename: async (from, to) => {
      await realFs.rename(from, to);
      renamed ||= to.endsWith("episodic.jsonl");
    },
    fsync: async (fd) => {
      if (renamed) {
        reached();
        await gate;
      }
      return realFs.fsync(fd);
    },
  };
  const defaults = { allowedKinds: KINDS, maxEpisodicBytes: cap, maxSemanticBytes: 0 };
  const store = await openStore({ fs: slow, defaults });
  const list = () =>
    store
      .list(agent, { kinds: KINDS, order: "oldest", limit: 100, maxBytes: 1e6, minSeq: 0 })
      .then(({ entries, seq }) => ({
        ids: entries.map(({ id }) => id).join(),
        seq,
      }));
  await store.append(agent, [entry("a", "one")]);
  const before = await list();
  const change =
    cap === 0
      ? store.clear(agent, KINDS)
      : store.append(agent, [entry("b", "x".repeat(200)), entry("c", "y".repeat(200))]);
  await waiting;
  const during = await list();
  passed();
  await change;
  const after = await list();
  expect(before.ids).toBe("a");
  expect(during.ids).not.toBe("a");
  expect(during).toEqual(after);
});
