import fc from "fast-check";
import { KINDS, type Kind, type NewEntry } from "../../../src/store/store.js";

/** One step of a history of one owner. */
export type Command =
  | { readonly do: "append"; readonly entries: readonly NewEntry[] }
  | { readonly do: "forget"; readonly id: string }
  | { readonly do: "patch"; readonly id: string; readonly meta: string }
  | { readonly do: "clear"; readonly kinds: readonly Kind[] }
  | { readonly do: "tick"; readonly ms: number }
  | { readonly do: "reopen" | "softDelete" | "restore" | "hardDelete" };

const HOUR_MS = 3_600_000;

const id = fc.constantFrom("a", "b", "c", "d", "e");
const text = fc.constantFrom("Straße", "STRASSE und mehr", "東京タワー", "plain", 'quo"te\n\\', "x".repeat(300));

export const newEntry: fc.Arbitrary<NewEntry> = fc.record({
  id,
  kind: fc.constantFrom(...KINDS),
  text,
  ts: fc.integer({ min: 1000, max: 1004 }),
  meta: fc.constantFrom("", '{"n":1}', '{"n":9007199254740993,"é":[1]}'),
});

const append = fc.record({
  do: fc.constant("append" as const),
  entries: fc.array(newEntry, { minLength: 1, maxLength: 4 }),
});
const forget = fc.record({ do: fc.constant("forget" as const), id });
const patch = fc.record({
  do: fc.constant("patch" as const),
  id,
  meta: fc.constantFrom('{"p":1}', '{"p":2}', '{"n":1}'),
});
const clear = fc.record({ do: fc.constant("clear" as const), kinds: fc.subarray([...KINDS], { minLength: 1 }) });
/** The clock may also be set back. */
const tick = fc.record({ do: fc.constant("tick" as const), ms: fc.constantFrom(1, HOUR_MS, 25 * HOUR_MS, -HOUR_MS) });
const reopen = fc.constant<Command>({ do: "reopen" });
const trash = fc.constantFrom<Command>({ do: "softDelete" }, { do: "restore" }, { do: "hardDelete" });

export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: append },
  { weight: 3, arbitrary: forget },
  { weight: 3, arbitrary: patch },
  { weight: 1, arbitrary: clear },
  { weight: 1, arbitrary: tick },
  { weight: 3, arbitrary: reopen },
  { weight: 1, arbitrary: trash },
);

export const history = fc.array(command, { minLength: 1, maxLength: 25 });
export const lively = fc.array(fc.oneof({ weight: 6, arbitrary: append }, forget, patch), {
  minLength: 1,
  maxLength: 15,
});
