import { join } from "node:path";
import { seededRandom } from "../../lib/random.js";
import type { Outcome } from "../../lib/scorecard.js";
import { type Context, NONE, type Part, SOME } from "../part.js";
import { bitFlip, type Damage, damages, truncated } from "./damage.js";
import { openLog, openStore, type Verdict } from "./open-damaged.js";
import { type SampleLog, sampleLog, withoutChecksums } from "./sample-log.js";

const LOG_BYTES = 64 * 1024;
/** Alterations at the full measure. */
const ALTERATIONS = 9_000;
const CONTROL_FLIPS = 400;
/** The whole store opens every so-manieth of what the log opens. */
const STORE_STEP = 64;
/** Damaged logs that are opened at once. */
const AT_ONCE = 4;

/**
 * A 64 kB log is truncated at every byte, and altered in many ways. Each time the store's log code opens it on real
 * files and reads all entries; every 64th time the whole store does, stores another entry, and opens it again. What is
 * served must be what somebody wrote, untouched lines must be served, and no byte may be gone.
 */
export const alteredTextsPart: Part = {
  name: "altered-texts",
  title: "A log cut at every byte, and bytes altered",
  measures: [
    {
      id: "altered_texts",
      unit: "damaged logs",
      target: NONE,
    },
    { id: "altered_control", unit: "texts", target: SOME },
  ],
  run,
};

async function run({ dir, size, seed, progress }: Context): Promise<Outcome> {
  const random = seededRandom(seed);
  const sample = await sampleLog(join(dir, "sample"), LOG_BYTES, random);
  const step = size.byteStep;
  const cuts = Math.ceil(sample.bytes.length / step);
  const alterations = Math.max(50, Math.round(ALTERATIONS / step));
  const damageOf = (i: number): Damage => {
    if (i < cuts) return truncated(sample.bytes, Math.min(sample.bytes.length - 1, i * step + (seed % step)));
    return damages[(i - cuts) % damages.length](sample.bytes, i - cuts, alterations, random);
  };
  const measured = await openAll(sample, cuts + alterations, damageOf, dir, progress);

  const legacy = withoutChecksums(sample);
  const flip = (i: number): Damage => bitFlip(legacy.bytes, i, CONTROL_FLIPS, random);
  const control = await openAll(legacy, CONTROL_FLIPS, flip, dir, () => {});
  return {
    values: { altered_texts: measured.broken, altered_control: control.altered },
    facts: {
      truncations: cuts,
      alterations,
      "opened by the whole store": measured.stores,
      "entries in the log": sample.standing.length,
      "altered texts served": measured.altered,
      "taken for lines of before Reverie": measured.mistaken,
    },
    findings: measured.wrong,
  };
}

interface Opened {
  readonly broken: number;
  readonly altered: number;
  readonly mistaken: number;
  readonly stores: number;
  readonly wrong: readonly string[];
}

async function openAll(
  sample: SampleLog,
  count: number,
  damageOf: (i: number) => Damage,
  dir: string,
  progress: (text: string) => void,
): Promise<Opened> {
  const wrong: string[] = [];
  let [next, broken, altered, mistaken, stores] = [0, 0, 0, 0, 0];
  const take = (verdict: Verdict): void => {
    if (verdict.wrong.length > 0) broken++;
    altered += verdict.altered;
    mistaken += verdict.mistaken;
    wrong.push(...verdict.wrong);
  };
  const work = async (worker: number): Promise<void> => {
    while (next < count) {
      const i = next++;
      const damage = damageOf(i);
      take(await openLog(sample, damage, join(dir, `log-${worker}`)));
      if (i % STORE_STEP === 0) {
        stores++;
        take(await openStore(sample, damage, join(dir, `store-${worker}`)));
      }
      if (i % 100 === 0) progress(`${i} of ${count} damaged logs`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, worker) => work(worker)));
  return { broken, altered, mistaken, stores, wrong };
}
