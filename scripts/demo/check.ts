import { inspect, isDeepStrictEqual } from "node:util";

/** Something isn't as the demo says it is. */
export class DemoError extends Error {
  override readonly name = "DemoError";
}

export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new DemoError(what);
}

export function checkEqual(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new DemoError(`${what}: expected ${inspect(expected)}, got ${inspect(actual)}`);
}
