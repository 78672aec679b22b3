import { toProtoOwner } from "@reverie/client";
import { Kind } from "@reverie/proto/memory";
import { between, pick, type Random } from "../../lib/random.js";
import type { Expected, Sent } from "../expected-owner.js";
import type { Desk, Surroundings } from "./habits.js";

const PROTO_KINDS = { episodic: Kind.EPISODIC, semantic: Kind.SEMANTIC, working: Kind.WORKING } as const;

export function toNewEntry({ id, kind, text, metaJson }: Sent) {
  return { id, kind: PROTO_KINDS[kind], text, metaJson };
}

export async function rememberMany(desk: Desk, { client, random, problem }: Surroundings): Promise<void> {
  const entries = sendNew(desk, random);
  if (entries.length === 0) return;
  const owner = toProtoOwner(desk.owner);
  const messages = entries.map(({ sent }) => ({ owner, entries: [toNewEntry(sent)] }));
  const reply = await client.memory.rememberMany(stream(messages));
  if (Number(reply.stored) !== entries.length) problem(`RememberMany stored ${reply.stored} of ${entries.length}`);
  for (const entry of entries) desk.expected.remembered(entry, Number(reply.lastSeq));
}

/** New entries, some older than what is there, with one that is stored already, one that was forgotten, and no entries. */
export async function importMany(desk: Desk, { client, random, problem }: Surroundings): Promise<void> {
  const entries = sendNew(desk, random);
  if (entries.length === 0) return;
  const before = desk.expected.seq;
  const stored = desk.mine.filter((entry) => entry.present && !desk.expected.mayVanish(entry));
  const repeated = stored.length > 0 ? [pick(random, stored)] : [];
  const forgotten = desk.mine.filter((entry) => entry.forgotten).slice(-1);
  const lines = [...entries, ...repeated, ...forgotten].map(({ sent }) => lineOf(sent, random));
  const reply = await client.importOwner(
    desk.owner,
    cutAnywhere(`${lines.join("\n")}\n\n{"head":{"seq":1,"floor":0},"crc":1}\n`, random),
  );
  const wanted = [entries.length, repeated.length, forgotten.length, 2].join();
  const got = [reply.stored, reply.alreadyStored, reply.refused, reply.skippedLines].join();
  if (got !== wanted) problem(`ImportOwner answered ${got} for ${wanted} (stored, already stored, refused, skipped)`);
  if (reply.refusedItems.some(({ reason }) => reason !== "ENTRY_FORGOTTEN"))
    problem(`ImportOwner refused for ${reply.refusedItems.map(({ reason }) => reason)}`);
  if (reply.firstSeq <= before) problem(`seq went back: an import got ${reply.firstSeq} after ${before}`);
  for (const entry of entries) desk.expected.remembered(entry, reply.lastSeq);
}

/** Without what Clear of a kind erases: these replies don't say each entry's seq. */
function sendNew(desk: Desk, random: Random): Expected[] {
  const made = Array.from({ length: between(random, 3, 20) }, () => desk.newEntry(random));
  const entries = made.filter(({ kind }) => kind !== "working").map((sent) => desk.expected.remember(sent));
  desk.mine.push(...entries);
  return entries;
}

function lineOf({ id, kind, text, metaJson }: Sent, random: Random): string {
  const ts = Date.now() - (random() < 0.5 ? 0 : between(random, 1, 1_000_000_000));
  return JSON.stringify({ id, kind, text, ts, ...(metaJson !== "" && { meta: JSON.parse(metaJson) }) });
}

function* cutAnywhere(text: string, random: Random): Generator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    const size = between(random, 1, 4_000);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function* stream<T>(messages: readonly T[]): AsyncGenerator<T> {
  yield* messages;
}
