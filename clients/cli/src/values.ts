import type { MemoryKind, OwnerKind } from "@reverie/client";
import { InvalidArgumentError, Option } from "commander";

export const KINDS: readonly MemoryKind[] = ["episodic", "semantic", "working"];
export const OWNER_KINDS: readonly OwnerKind[] = ["agent", "workflow-run", "shared", "user", "org", "peer"];

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/;
/** What a JavaScript date can hold, milliseconds. */
const MAX_TIME_MS = 8.64e15;

/** `--kind`, given once a kind or with commas; an option that can be repeated is an array. */
export function kindOption(description: string): Option {
  return withChoices(
    new Option("--kind <kind>", description).argParser((value: string, before: MemoryKind[] | undefined) => [
      ...(before ?? []),
      ...value.split(",").map((name) => oneOf(name, KINDS)),
    ]),
    KINDS,
  );
}

/** Shown in the help and completed, while the option's own parser decides. */
export function withChoices(option: Option, choices: readonly string[]): Option {
  option.argChoices = [...choices];
  return option;
}

export function oneOf<T extends string>(value: string, choices: readonly T[]): T {
  if (!(choices as readonly string[]).includes(value)) {
    throw new InvalidArgumentError(`Allowed choices are ${choices.join(", ")}.`);
  }
  return value as T;
}

/** Milliseconds of `500ms`, `10s`, `2m`, `1h`; a bare number is seconds. */
export function parseDuration(value: string): number {
  const [, number, unit = "s"] = DURATION.exec(/^\d+(\.\d+)?$/.test(value) ? `${value}s` : value) ?? [];
  if (number === undefined) throw new InvalidArgumentError("Give a time span such as 500ms, 10s or 2m.");
  return Math.round(Number(number) * (UNIT_MS[unit] as number));
}

/** Epoch milliseconds of an ISO date or time (without a zone: this machine's), of epoch milliseconds, or of a span ago. */
export function parseTime(value: string, now = Date.now()): number {
  if (/^\d{9,}$/.test(value)) return inRange(Number(value));
  if (DURATION.test(value)) return inRange(now - parseDuration(value));
  // What else Date.parse takes differs from place to place.
  if (/^\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}.*)?)?$/.test(value)) return inRange(Date.parse(value));
  return inRange(Number.NaN);
}

function inRange(ms: number): number {
  if (ms >= 0 && ms <= MAX_TIME_MS) return ms;
  throw new InvalidArgumentError(
    "Give a time such as 2026-12-31, 2026-12-31T10:00Z, 1798700000000 (ms), or 2h, 7d ago.",
  );
}

/** A whole number from `min` to `max`. */
export function parseCount(min: number, max = Number.MAX_SAFE_INTEGER): (value: string) => number {
  return (value) => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    const upTo = max === Number.MAX_SAFE_INTEGER ? "" : ` to ${max}`;
    throw new InvalidArgumentError(`Give a whole number, ${min}${upTo === "" ? " or more" : upTo}.`);
  };
}

/** An option that may be given several times, as an array. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}
