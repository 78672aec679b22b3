import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Fs, realFs } from "../../src/store/jsonl/fs.js";
import { type JsonlStore, openJsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import { KINDS, type NewEntry } from "../../src/store/store.js";
import { agent, entry, listAll } from "./support.js";

// Every file-system call of a mixed history fails once, one a run. Whatever was acknowledged must then be so, at
// once and after a restart; what was refused may be either.

/** What must be true of each id: true live, false gone; not in the map: unknown. */
class Expected {
  readonly live = new Map<string, boolean>();
  /** Erased by an acknowledged Forget. */
  readonly forgotten = new Set<string>();

  /** Runs a change; its ids are unknown unless it succeeds. */
  async change<T>(ids: readonly string[], live: boolean, run: () => Promise<T>): Promise<T | undefined> {
    const before = new Map(ids.map((id) => [id, this.live.get(id)]));
    for (const id of ids) this.live.delete(id);
    try {
      const result = await run();
      for (const id of ids) this.live.set(id, live);
      return result;
    } catch (error) {
      // Nothing is said to have changed, so what agrees with either outcome stays known.
      for (const [id, was] of before) if (was === live) this.live.set(id, live);
      expect(error, "an error that names itself").toBeInstanceOf(Error);
      return undefined;
    }
  }
}

const forget = (store: JsonlStore, expected: Expected, id: string) => async () => {
  if ((await store.forget(agent, id)).copies === 1) expected.forgotten.add(id);
};

const append = (store: JsonlStore, entries: NewEntry[]) => async () => {
  const { outcomes } = await store.append(agent, entries);
  for (const outcome of outcomes) if (outcome.status === "refused") throw outcome.error;
};

async function history(store: JsonlStore, expected: Expected): Promise<void> {
  const long = "x".repeat(400);
  await expected.change(["a", "b"], true, append(store, [entry("a", long), entry("b", long)]));
  await expected.change(
    ["w"],
    true,
    append(store, [entry("w", "working", { kind: "working" }), entry("s", "semantic", { kind: "semantic" })]),
  );
  await expected.change(["a"], true, async () => {
    const { copies } = await store.patch(agent, "a", () => '{"p":1}');
    if (copies === 0) throw new Error("not there");
  });
  await expected.change(["b"], false, forget(store, expected, "b"));
  for (const id of ["c", "d", "e"]) await expected.change([id], true, append(store, [entry(id, long)]));
  for (const id of ["c", "d"]) await expected.change([id], false, forget(store, expected, id));
  await expected.change(["w"], false, () => store.clear(agent, ["working"]));
  await expected.change([], true, () =>
    store.attach(agent, { allowedKinds: KINDS, maxEpisodicBytes: 0, maxSemanticBytes: 300 }, true),
  );
  await store
    .append(
      agent,
      [1, 2, 3, 4].map((i) => entry(`cap${i}`, "y".repeat(80), { kind: "semantic" })),
    )
    .catch(() => {});
  const ids = ["a", "e"].filter((id) => expected.live.get(id) === true);
  const deleted = await store.softDelete(agent, "").catch(() => undefined);
  if (deleted === undefined) {
    // It may have gone: whatever is there now is what must stay.
    for (const id of ids) expected.live.delete(id);
  } else {
    for (const id of ids) expected.live.set(id, false);
    await expected.change(["n"], true, append(store, [entry("n", "new life")]));
    await expected.change(["n"], false, () => store.forget(agent, "n"));
    if (deleted.moved) await expected.change(ids, true, () => store.restore(agent, deleted.ref.refId));
  }
  await expected.change(["z"], true, append(store, [entry("z", "last")]));
}

async function check(store: JsonlStore, expected: Expected, when: string): Promise<void> {
  const ids = new Set((await listAll(store)).map(({ id }) => id));
  for (const [id, live] of expected.live) expect(ids.has(id), `${id} ${when}`).toBe(live);
  const state = await store.describe(agent, { minSeq: 0 });
  expect(state.corruptLines, `corrupt lines ${when}`).toBe(0);
  // Their hashes are in the trash where the owner wasn't restored.
  if (expected.live.get("a") !== true) return;
  for (const id of expected.forgotten) {
    const { outcomes } = await store.append(agent, [entry(id, "x".repeat(400))]);
    expect(outcomes[0].status, `a retry of ${id} ${when}`).toBe("refused");
  }
}

class NthFails {
  calls = 0;
  failed = "";
  readonly fs: Fs;

  constructor(n: number, code: string, breakRule = false) {
    const fs: Record<string, unknown> = {};
    for (const [name, call] of Object.entries(realFs) as [string, (...args: unknown[]) => unknown][]) {
      fs[name] = (...args: unknown[]): unknown => {
        this.calls++;
        if (this.calls !== n) return call(...args);
        this.failed = `${name} ${String(args[0]).slice(-30)}`;
        const error = Object.assign(new Error(`${code} injected`), { code });
        // The negative control: the call claims to have worked.
        if (breakRule && (name === "write" || name === "rename"))
          return name === "write" ? Promise.resolve((args[1] as Uint8Array).length) : Promise.resolve();
        if (name.endsWith("Sync")) throw error;
        // A close that fails has closed all the same.
        if (name === "close") return (call(...args) as Promise<void>).then(() => Promise.reject(error));
        return Promise.reject(error);
      };
    }
    this.fs = fs as unknown as Fs;
  }
}

async function runOnce(n: number, code: string, breakRule = false): Promise<NthFails> {
  const root = mkdtempSync(join(tmpdir(), "reverie-nth-"));
  const faulty = new NthFails(n, code, breakRule);
  const options = { root, compactMinBytes: 300, reserveBytes: 1000 };
  const expected = new Expected();
  try {
    const store = await openJsonlStore({ ...options, fs: faulty.fs }).catch(() => undefined);
    if (store !== undefined) {
      await history(store, expected);
      await store.close().catch(() => {});
    }
    const again = await openJsonlStore(options);
    try {
      await check(again, expected, `after call ${n} (${faulty.failed}) failed with ${code}`);
    } finally {
      await again.close();
    }
    return faulty;
  } finally {
    rmSync(root, { recursive: true });
  }
}

test.each([
  ["EIO", 1],
  ["ENOSPC", 3],
  ["EMFILE", 4],
])(
  "one call failing with %s, every %i. in turn, loses nothing acknowledged and brings nothing back",
  { timeout: 120_000 },
  async (code, step) => {
    const { calls } = await runOnce(0, code);
    expect(calls).toBeGreaterThan(100);
    const problems: string[] = [];
    for (let n = 1; n <= calls; n += step) await runOnce(n, code).catch((error: Error) => problems.push(error.message));
    expect(problems).toEqual([]);
  },
);

test("the same run finds a call that only claims to have worked", { timeout: 120_000 }, async () => {
  const { calls } = await runOnce(0, "EIO");
  let found = 0;
  for (let n = 1; n <= calls && found === 0; n++) await runOnce(n, "EIO", true).catch(() => found++);
  expect(found).toBeGreaterThan(0);
});
