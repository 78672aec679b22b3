import { MAX_DEADLINE_MS } from "./limits.js";

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000001 };
// setTimeout's longest delay; longer deadlines of exempt methods are no deadline.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds of a `grpc-timeout` value; undefined when it breaks the protocol's rule. */
export function parseGrpcTimeout(value: string): number | undefined {
  const match = /^(\d{1,8})([HMSmun])$/.exec(value);
  return match === null ? undefined : Number(match[1]) * (unitMs[match[2] ?? ""] ?? 0);
}

/** Milliseconds of a `connect-timeout-ms` value; undefined when it breaks the protocol's rule. */
export function parseConnectTimeout(value: string): number | undefined {
  return /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}

/** What a call gets for the deadline that it asked for; undefined: none. */
export function allowedTimeoutMs(askedMs: number | undefined, hasLongestDeadline: boolean): number | undefined {
  if (hasLongestDeadline) return Math.min(askedMs ?? MAX_DEADLINE_MS, MAX_DEADLINE_MS);
  return askedMs !== undefined && askedMs <= LONGEST_TIMER_MS ? askedMs : undefined;
}
