import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { realFs } from "../../../memory-service/src/store/jsonl/fs.js";
import { between, type Random, seededRandom } from "../../lib/random.js";
import { ExpectedOwner } from "../expected-owner.js";
import { BYTES, crashState, digestOf, type Files, type Habit, NAMES, writeState } from "./crash-state.js";
import type { Recorded } from "./record.js";
import { openOn, owners, Promised } from "./store-script.js";
import type { Trace } from "./trace.js";

export interface StateRuns {
  /** All different, by what the disk holds or what was promised by then. */
  readonly states: number;
  /** Of these, where something was wrong. */
  readonly broken: number;
  readonly wrong: readonly string[];
  /** Tails that were put aside. */
  readonly torn: number;
  /** Outcomes that nobody knew before. */
  readonly unknown: number;
}

export interface StateOptions {
  /** Existing; what is made in it goes again. */
  readonly dir: string;
  readonly traces: readonly Recorded[];
  readonly states: number;
  readonly seed: number;
  readonly progress?: (text: string) => void;
}

const HABITS: readonly Habit[] = [...BYTES, "mixed" as const].flatMap((bytes) =>
  NAMES.map((names): Habit => ({ bytes, names })),
);
/** In these, each file is a beginning of what was written to it. */
const ORDERLY: readonly Habit["bytes"][] = ["dropped", "kept", "torn"];
/** Draws for one new state before there are taken to be no more. */
const DRAWS = 10;
/** States that are opened at once. */
const AT_ONCE = 4;
/** Ticks. */
const SOON = 6;
/** The golden ratio's fraction: multiples of it spread evenly. */
const GOLDEN = 0.618_033_988_75;

/** Opens what crashes at ticks all over the traces leave, compares it with the promises of that moment, writes, and reopens it. */
export async function runStates({ dir, traces, states, seed, progress }: StateOptions): Promise<StateRuns> {
  const random = seededRandom(seed);
  const known = new Set<string>();
  const wrong: string[] = [];
  let [draws, broken, torn, unknown] = [0, 0, 0, 0];
  const work = async (): Promise<void> => {
    while (known.size < states && draws < states * DRAWS) {
      const drawn = draw(traces, draws++, random);
      if (known.has(drawn.key)) continue;
      known.add(drawn.key);
      const found = await inspect(drawn, join(dir, `state-${known.size}`));
      if (found.wrong.length > 0) broken++;
      const { bytes, names } = drawn.habit;
      const when = `trace ${drawn.number}, tick ${drawn.tick}, bytes ${bytes}, names ${names}`;
      wrong.push(...found.wrong.map((what) => `${when}: ${what}`));
      torn += found.torn;
      unknown += found.unknown;
      progress?.(`${known.size} of ${states} states`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { states: known.size, broken, wrong, torn, unknown };
}

interface Drawn {
  readonly number: number;
  readonly trace: Trace;
  readonly tick: number;
  readonly habit: Habit;
  readonly files: Files;
  readonly key: string;
}

/** A quarter of the states are the first trace's; ticks and habits take turns. */
function draw(traces: readonly Recorded[], i: number, random: Random): Drawn {
  const turn = Math.floor(i / 4);
  const number = i % 4 === 0 || traces.length === 1 ? 0 : 1 + ((i - turn) % (traces.length - 1));
  const { trace, from, skipped } = traces[number];
  const place = (i * GOLDEN) % 1;
  // Where syncs were left out, crashes soon after show it.
  const near = skipped[Math.floor(place * skipped.length)] ?? Math.floor(from + place * (trace.tick - from));
  const tick = Math.min(trace.tick, near + between(random, 0, skipped.length > 0 ? SOON : 3));
  const habit = HABITS[between(random, 0, HABITS.length - 1)];
  const files = crashState(trace, tick, habit, random);
  const promises = trace.promises.filter((one) => one.tick <= tick).length;
  return { number, trace, tick, habit, files, key: `${number}:${promises}:${digestOf(files)}` };
}

async function inspect(
  { trace, tick, habit, files }: Drawn,
  base: string,
): Promise<{ wrong: string[]; torn: number; unknown: number }> {
  const expected = new Map(owners.map(({ id }) => [id, new ExpectedOwner()]));
  for (const promise of trace.promises) if (promise.tick <= tick) promise.apply(expected);
  const promised = owners.map((owner) => new Promised(owner, undefined, expected.get(owner.id)));
  const wrong: string[] = [];
  let torn = 0;
  let unknown = 0;
  mkdirSync(base);
  try {
    writeState(files, base);
    const root = join(base, "data");
    for (const when of ["at once", "after a restart"]) {
      const store = await openOn(realFs, root);
      for (const one of promised) {
        const compared = await one.compare(store, ORDERLY.includes(habit.bytes));
        const forgotten = when === "at once" ? [] : await one.compareForgotten(store, root);
        wrong.push(...[...compared.wrong, ...forgotten].map((what) => `${when}: ${one.owner.id}: ${what}`));
        if (when === "at once") {
          torn += compared.torn;
          unknown += compared.settled;
          await one.append(store, [`later-${one.owner.id}`]);
        }
      }
      await store.close();
    }
  } catch (error) {
    wrong.push(`${error instanceof Error ? error.stack : error}`);
  } finally {
    rmSync(base, { recursive: true });
  }
  return { wrong, torn, unknown };
}
