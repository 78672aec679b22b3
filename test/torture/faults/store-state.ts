import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonlStore } from "../../../memory-service/src/store/jsonl/jsonl-store.js";
import { KINDS, type OwnerRef } from "../../../memory-service/src/store/store.js";

export const x: OwnerRef = { kind: "agent", id: "x" };
export const y: OwnerRef = { kind: "agent", id: "y" };
export const owners: readonly OwnerRef[] = [x, y];

/** All that a store serves, one line a fact: entries, configs, payloads in the trash. Sorted. */
export type State = readonly string[];

export async function stateOf(store: JsonlStore): Promise<State> {
  const facts: string[] = [];
  for (const owner of owners) {
    const { entries } = await store.list(owner, {
      kinds: KINDS,
      order: "oldest",
      limit: 1000,
      maxBytes: 1e8,
      minSeq: 0,
    });
    for (const { id, kind, text, ts, meta } of entries)
      facts.push(JSON.stringify([owner.id, id, kind, text, ts, meta]));
    const { corruptLines, tornTails } = await store.describe(owner, { minSeq: 0 });
    if (corruptLines > 0) facts.push(`${owner.id}: ${corruptLines} corrupt lines`);
    if (tornTails > 0) facts.push(`${owner.id}: torn tails`);
    const { config, attached } = await store.config(owner);
    if (attached) facts.push(`${owner.id}: ${JSON.stringify(config)}`);
  }
  for (const { refId, hasPayload } of await store.listTrash(undefined)) if (hasPayload) facts.push(`trash: ${refId}`);
  return facts.sort();
}

export async function seqsOf(store: JsonlStore): Promise<number[]> {
  return Promise.all(owners.map(async (owner) => (await store.describe(owner, { minSeq: 0 })).seq));
}

export function same(a: State, b: State): boolean {
  return a.length === b.length && a.every((fact, i) => fact === b[i]);
}

/** Each fact of which before and after agree holds, and none that neither knows. */
export function isBetween(state: State, before: State, after: State): boolean {
  const holds = before.filter((fact) => after.includes(fact)).every((fact) => state.includes(fact));
  return holds && state.every((fact) => before.includes(fact) || after.includes(fact));
}

/** What `a` has and `b` has not, and the other way round, shortened for people. */
export function difference(a: State, b: State): string {
  const short = (sign: string, facts: State): string[] => facts.map((fact) => `${sign}${fact.slice(0, 60)}`);
  return [
    ...short(
      "-",
      b.filter((fact) => !a.includes(fact)),
    ),
    ...short(
      "+",
      a.filter((fact) => !b.includes(fact)),
    ),
  ].join(" ");
}

/** What a program that knows nothing of the format sees of the owners: one line an entry, as in `State`. */
export function plainRead(root: string): State {
  const facts: string[] = [];
  for (const { kind, id: owner } of owners) {
    for (const log of KINDS) {
      for (const line of readLines(join(root, kind, owner, `${log}.jsonl`))) {
        const { id, text, ts } = JSON.parse(line) as Record<string, unknown>;
        if (typeof id === "string" && typeof text === "string") facts.push(JSON.stringify([owner, id, log, text, ts]));
      }
    }
  }
  return facts.sort();
}

/** The same of what a store serves. */
export function plainFacts(state: State): State {
  const entries = state.filter((fact) => fact.startsWith("["));
  return entries.map((fact) => JSON.stringify((JSON.parse(fact) as unknown[]).slice(0, 5))).sort();
}

/** Files below, by path. */
export function filesBelow(root: string): Map<string, string> {
  const names = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    names.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), "latin1")]),
  );
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}
