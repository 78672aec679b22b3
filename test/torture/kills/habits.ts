import type { MemoryClient, MemoryKind, Owner } from "@reverie/client";
import type { Random } from "../../lib/random.js";
import type { Expected, ExpectedOwner, Sent } from "../expected-owner.js";

/** A writer holds about this many entries; beyond it forgets more than it stores. */
const ENOUGH = 120;

/** What an owner's writers do. */
export interface Habits {
  readonly kinds: readonly MemoryKind[];
  /** Relative frequencies. */
  readonly mix: Readonly<Partial<Record<Step, number>>>;
}
export type Step =
  | "remember"
  | "rememberMany"
  | "import"
  | "forget"
  | "patch"
  | "clear"
  | "clearAll"
  | "repeat"
  | "lateRetry"
  | "recall"
  | "trash"
  | "discard";

export interface Surroundings {
  readonly client: MemoryClient;
  readonly random: Random;
  /** The service is about to be killed: failures are no news. */
  readonly stopping: () => boolean;
  /** What must not happen, for people. */
  readonly problem: (what: string) => void;
}

/** What a step needs of its writer. */
export interface Desk {
  readonly owner: Owner;
  readonly expected: ExpectedOwner;
  /** What this writer sent, and nobody else changes. */
  readonly mine: Expected[];
  newEntry(random: Random): Sent;
}

/** What a writer that holds so many entries does next. */
export function chooseStep(random: Random, { mix }: Habits, live: number): Step {
  const steps = Object.entries(mix) as [Step, number][];
  const weights = steps.map(([step, weight]) => (step === "forget" && live > ENOUGH ? weight * 6 : weight));
  let at = random() * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [i, [step]] of steps.entries()) {
    at -= weights[i];
    if (at < 0) return step;
  }
  return "remember";
}
