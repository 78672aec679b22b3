import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type JsonlStore, openJsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import { decodeLine } from "../../src/store/jsonl/line.js";
import { type Checked, check, kept, logOf } from "./check-support.js";
import { agent, entry, listAll } from "./support.js";

// Random damage to a random log: whatever stayed intact is served after a fix, and whatever a fix took out is kept.

type Change = { op: "remember"; size: number } | { op: "forget" | "patch"; which: number };
/** `at` is a fraction of the file. */
type Damage =
  | { how: "overwrite"; at: number; bytes: readonly number[] }
  | { how: "delete"; at: number; count: number }
  | { how: "insert"; at: number; line: string }
  | { how: "truncate"; at: number };

const changes = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ op: fc.constant("remember" as const), size: fc.integer({ min: 0, max: 80 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ op: fc.constantFrom("forget" as const, "patch" as const), which: fc.nat(20) }),
    },
  ),
  { minLength: 3, maxLength: 20 },
);
const at = fc.integer({ min: 0, max: 9999 }).map((n) => n / 10_000);
const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.record({
    how: fc.constant("overwrite" as const),
    at,
    bytes: fc.oneof(
      fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 3 }),
      fc.array(fc.constant<number>(0), { minLength: 1, maxLength: 200 }),
      fc.constant<number[]>([0x0a]),
    ),
  }),
  // Shorter than what makes a line ours: what is left can't be taken for a legacy line.
  fc.record({ how: fc.constant("delete" as const), at, count: fc.integer({ min: 1, max: 8 }) }),
  fc.record({
    how: fc.constant("insert" as const),
    at,
    line: fc.constantFrom("no JSON", '{"a":1}', "\0\0", '{"id":"a"', '{"id":1,"text":"t","seq":1}', "[]"),
  }),
  fc.record({ how: fc.constant("truncate" as const), at }),
);

const FIRST: Change = { op: "remember", size: 3 };

async function play(store: JsonlStore, history: readonly Change[]): Promise<void> {
  const live: string[] = [];
  for (const [i, change] of history.entries()) {
    if (change.op === "remember") {
      await store.append(agent, [entry(`e${i}`, `text ${"é".repeat(change.size)}`, { ts: 1000 + i, meta: '{"n":1}' })]);
      live.push(`e${i}`);
    } else if (live.length > 0) {
      const id = live[change.which % live.length];
      if (change.op === "patch") await store.patch(agent, id, () => `{"p":${i}}`);
      else {
        await store.forget(agent, id);
        live.splice(live.indexOf(id), 1);
      }
    }
  }
}

function harm(log: Buffer, done: Damage): Buffer {
  const position = Math.floor(done.at * log.length);
  const [before, after] = [log.subarray(0, position), log.subarray(position)];
  if (done.how === "truncate") return before;
  if (done.how === "delete") return Buffer.concat([before, after.subarray(done.count)]);
  if (done.how === "overwrite") {
    const bytes = Buffer.from(done.bytes).subarray(0, after.length);
    return Buffer.concat([before, bytes, after.subarray(bytes.length)]);
  }
  const start = before.lastIndexOf(0x0a) + 1;
  return Buffer.concat([log.subarray(0, start), Buffer.from(`${done.line}\n`), log.subarray(start)]);
}

const linesOf = (log: Buffer): string[] => log.toString("latin1").split("\n");

function isLegacy(line: string): boolean {
  const decoded = decodeLine(Buffer.from(line, "latin1"));
  return decoded.type === "entry" && decoded.legacy;
}

/** Bytes that a fix took out of the log, and that it neither kept nor said to erase. */
function missing(before: Buffer, log: string, { findings }: Checked): number[] {
  const after = readFileSync(log);
  const records = [...kept(log, "quarantine"), ...kept(log, "torn")];
  const erased = findings.filter(({ action }) => action === "erase");
  const isKept = (i: number): boolean =>
    records.some(({ at: from, bytes }) => from <= i && i < from + bytes.length && bytes[i - from] === before[i]) ||
    erased.some(({ at: from = 0, bytes = 0 }) => from <= i && i < from + bytes);
  const lost: number[] = [];
  for (let i = 0; i < before.length; i++) if (before[i] !== after[i] && !isKept(i)) lost.push(i);
  return lost;
}

test("after random damage a fix loses no intact entry and no byte, and a second one finds nothing to do", {
  timeout: 120_000,
}, async () => {
  const done = { quarantine: 0, cut: 0, adopt: 0, erase: 0 };
  await fc.assert(
    fc.asyncProperty(
      changes.map((all) => [FIRST, ...all]),
      fc.array(damage, { minLength: 1, maxLength: 4 }),
      async (history, damages) => {
        const root = mkdtempSync(join(tmpdir(), "reverie-damage-"));
        const open = (): Promise<JsonlStore> => openJsonlStore({ root, durability: "none", reserveBytes: 0 });
        const serve = async (): Promise<{ ids: string[]; texts: Map<string, string>; corrupt: number }> => {
          const store = await open();
          try {
            const entries = await listAll(store);
            const { corruptLines } = await store.describe(agent, { minSeq: 0 });
            const texts = new Map(entries.map(({ id, text, meta, ts }) => [id, JSON.stringify([text, meta, ts])]));
            return { ids: entries.map(({ id }) => id).sort(), texts, corrupt: corruptLines };
          } finally {
            await store.close();
          }
        };
        try {
          const store = await open();
          await play(store, history);
          await store.close();
          const log = logOf(root);
          const original = await serve();
          const whole = readFileSync(log);
          const live = new Map(
            linesOf(whole).flatMap((line) => {
              const id = /^\{"id":"(e\d+)"/.exec(line)?.[1];
              return id === undefined ? [] : [[id, line] as const];
            }),
          );
          expect([...live.keys()].sort()).toEqual(original.ids);
          const harmed = damages.reduce(harm, whole);
          // Nothing tells what is left without seq and checksum from a line of before Reverie.
          fc.pre(!linesOf(harmed).some(isLegacy));
          writeFileSync(log, harmed);
          const left = new Set(linesOf(harmed));
          const intact = original.ids.filter((id) => left.has(live.get(id) ?? ""));

          const fixed = await check(root, { fix: true });
          expect(missing(harmed, log, fixed)).toEqual([]);
          const after = await serve();
          expect(after.ids).toEqual(intact);
          for (const id of intact) expect(after.texts.get(id)).toBe(original.texts.get(id));
          const stale = fixed.findings.filter(({ problem }) => problem === "stale-line");
          expect(after.corrupt).toBe(stale.length);
          expect((await check(root, { fix: true })).summary).toMatchObject({ fixed: 0, remaining: stale.length });

          const before = readFileSync(log);
          const adopted = await check(root, { fix: true, adopt: true });
          expect(missing(before, log, adopted)).toEqual([]);
          const all = await serve();
          const back = adopted.findings.filter(({ action, done: isDone }) => action === "adopt" && isDone);
          expect(all.ids).toEqual([...intact, ...back.map(({ id }) => id)].sort());
          for (const id of intact) expect(all.texts.get(id)).toBe(original.texts.get(id));
          const again = await check(root, { fix: true, adopt: true });
          expect(again.summary).toMatchObject({ fixed: 0, remaining: stale.length - back.length });
          for (const { action, done: isDone } of [...fixed.findings, ...adopted.findings])
            if (isDone && action in done) done[action as keyof typeof done]++;
        } finally {
          rmSync(root, { recursive: true });
        }
      },
    ),
    { numRuns: Number(process.env.CHECK_RUNS ?? 60), endOnFailure: true },
  );
  for (const [action, times] of Object.entries(done)) if (action !== "erase") expect(times, action).toBeGreaterThan(0);
});

test("the comparison finds bytes that are kept nowhere", async () => {
  const root = mkdtempSync(join(tmpdir(), "reverie-damage-"));
  try {
    const store = await openJsonlStore({ root, reserveBytes: 0 });
    await store.append(agent, [entry("a", "one"), entry("b", "two")]);
    await store.close();
    const log = logOf(root);
    const harmed = harm(readFileSync(log), { how: "insert", at: 0.6, line: "no JSON" });
    writeFileSync(log, harmed);
    const checked = await check(root, { fix: true });
    expect(missing(harmed, log, checked)).toEqual([]);
    rmSync(`${log}.quarantine`);
    expect(missing(harmed, log, checked)).toHaveLength("no JSON".length);
  } finally {
    rmSync(root, { recursive: true });
  }
});
