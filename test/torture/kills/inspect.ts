import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { formatOwner, type MemoryClient, type MemoryKind, type Owner, toProtoOwner } from "@reverie/client";
import { Kind } from "@reverie/proto/memory";
import type { Seen } from "../expected-owner.js";
import type { Member } from "./cast.js";

const KIND_NAMES: Partial<Record<Kind, MemoryKind>> = {
  [Kind.EPISODIC]: "episodic",
  [Kind.SEMANTIC]: "semantic",
  [Kind.WORKING]: "working",
};

export interface Findings {
  readonly lost: string[];
  readonly resurrected: string[];
  readonly problems: string[];
  settled: number;
  corruptLines: number;
  tornTails: number;
}

/** Reads all that a service holds after a restart and compares it with what must be there. */
export async function inspect(client: MemoryClient, cast: readonly Member[]): Promise<Findings> {
  const findings: Findings = { lost: [], resurrected: [], problems: [], settled: 0, corruptLines: 0, tornTails: 0 };
  for (const member of cast) await inspectOne(client, member, findings);
  return findings;
}

async function inspectOne(client: MemoryClient, { owner, expected }: Member, findings: Findings): Promise<void> {
  const name = formatOwner(owner);
  const place = expected.place;
  const before = await readAll(client, owner);
  const refs = await trashOf(client, owner);
  if (place === "live" && refs.length > 0) findings.lost.push(`${name} is in the trash`);
  if (place === "trash" && before.entries.length > 0) findings.resurrected.push(`${name} left the trash`);
  if (refs.length > 0) await client.trash.restore({ owner: toProtoOwner(owner), refId: refs[0] });
  expected.place = "live";

  const { entries, seq } = refs.length > 0 ? await readAll(client, owner) : before;
  if (seq < expected.seq && !(seq === 0 && expected.mayBeUnborn))
    findings.problems.push(`${name}: seq went back to ${seq} after ${expected.seq}`);
  expected.seq = Math.max(expected.seq, seq);
  const verdict = expected.settle(entries);
  findings.lost.push(...verdict.lost.map((what) => `${name}: ${what}`));
  findings.resurrected.push(...verdict.resurrected.map((what) => `${name}: ${what}`));
  findings.settled += verdict.settled;

  const { corruptLines, tornTails, writable } = await client.owners.describe({ owner: toProtoOwner(owner) });
  findings.corruptLines += Number(corruptLines);
  findings.tornTails += Number(tornTails);
  if (!writable) findings.problems.push(`${name} takes no writes`);
  await compareRecall(client, owner, entries, findings);
}

async function readAll(client: MemoryClient, owner: Owner): Promise<{ entries: Seen[]; seq: number }> {
  const entries: Seen[] = [];
  let pageToken = "";
  let seq = 0;
  do {
    const page = await client.memory.listEntries({ owner: toProtoOwner(owner), pageToken, pageSize: 500 });
    for (const { id, kind, text, metaJson } of page.entries) {
      entries.push({ id, kind: KIND_NAMES[kind] ?? "working", text, metaJson });
    }
    seq = Number(page.seq);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return { entries, seq };
}

async function trashOf(client: MemoryClient, owner: Owner): Promise<string[]> {
  const refs: string[] = [];
  for await (const part of client.trash.listTrash({ owner: toProtoOwner(owner) })) {
    refs.push(...part.refs.filter((ref) => ref.hasPayload).map((ref) => ref.refId));
  }
  return refs;
}

/** Recall shows the same entries in the same order, and finds single ones. */
async function compareRecall(
  client: MemoryClient,
  owner: Owner,
  listed: readonly Seen[],
  findings: Findings,
): Promise<void> {
  const { entries } = await client.recall(owner, { k: 200 });
  const ids = (seen: readonly { id: string }[]): string => seen.map(({ id }) => id).join(" ");
  if (ids(entries) !== ids(listed.slice(0, 200)))
    findings.problems.push(`${formatOwner(owner)}: Recall differs from ListEntries`);
  for (const wanted of [listed[0], listed[Math.floor(listed.length / 2)], listed.at(-1)]) {
    if (wanted === undefined) continue;
    const found = await client.recall(owner, { text: `${wanted.id} ` });
    const texts = found.entries.filter(({ id }) => id === wanted.id).map(({ text }) => text);
    if (texts.length !== 1 || texts[0] !== wanted.text) findings.problems.push(`Recall didn't find ${wanted.id}`);
  }
}

/** What a reader that knows nothing of Reverie finds: objects with a string id and text. Nothing while it is in the trash. */
export function naiveRead(dataDir: string, { kind, id }: Owner): Pick<Seen, "id" | "text" | "kind">[] {
  const directory = join(dataDir, kind, id);
  const found: Pick<Seen, "id" | "text" | "kind">[] = [];
  if (!existsSync(directory)) return found;
  for (const name of readdirSync(directory).filter((name) => name.endsWith(".jsonl"))) {
    for (const line of readFileSync(join(directory, name), "utf8").split("\n")) {
      const entry = parse(line);
      if (entry !== undefined) found.push({ ...entry, kind: name.slice(0, -".jsonl".length) as MemoryKind });
    }
  }
  return found;
}

function parse(line: string): { id: string; text: string } | undefined {
  try {
    const { id, text } = JSON.parse(line);
    return typeof id === "string" && typeof text === "string" ? { id, text } : undefined;
  } catch {
    return undefined;
  }
}
