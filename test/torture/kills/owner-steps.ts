import type { MemoryKind } from "@reverie/client";
import { toProtoOwner } from "@reverie/client";
import { Kind } from "@reverie/proto/memory";
import type { Desk, Surroundings } from "./habits.js";

// All but `clear` are for an owner's only writer.

const ALL: readonly MemoryKind[] = ["episodic", "semantic", "working"];

export async function clear({ owner, expected }: Desk, { client }: Surroundings): Promise<void> {
  expected.clear("working");
  const reply = await client.memory.clear({ owner: toProtoOwner(owner), kinds: [Kind.WORKING] });
  expected.cleared("working", Number(reply.seq));
}

export async function clearAll({ owner, expected }: Desk, { client }: Surroundings): Promise<void> {
  for (const kind of ALL) expected.clear(kind);
  const { seq } = await client.memory.clear({ owner: toProtoOwner(owner), all: true });
  for (const kind of ALL) expected.cleared(kind, Number(seq));
}

export async function moveToTrashAndBack(desk: Desk, around: Surroundings): Promise<void> {
  const refId = await softDelete(desk, around);
  if (refId === undefined) return;
  const { owner, expected } = desk;
  expected.place = "unknown";
  const back = await around.client.trash.restore({ owner: toProtoOwner(owner), refId });
  if (Number(back.seq) <= expected.seq)
    around.problem(`seq went back: Restore answered ${back.seq} after ${expected.seq}`);
  expected.place = "live";
  expected.acknowledge(Number(back.seq));
}

/** For good: what is stored next begins the owner's next life. */
export async function discard(desk: Desk, around: Surroundings): Promise<void> {
  const refId = await softDelete(desk, around);
  if (refId === undefined) return;
  const { owner, expected } = desk;
  expected.place = "unknown";
  expected.discard();
  await around.client.trash.hardDelete({ owner: toProtoOwner(owner), refId });
  expected.place = "live";
  expected.discarded();
}

async function softDelete({ owner, expected, mine }: Desk, around: Surroundings): Promise<string | undefined> {
  if (!mine.some(({ present }) => present)) return undefined;
  expected.place = "unknown";
  const { ref, seq, moved } = await around.client.trash.softDelete({ owner: toProtoOwner(owner), reason: "torture" });
  if (!moved) around.problem("SoftDelete moved nothing");
  expected.place = "trash";
  expected.acknowledge(Number(seq));
  return ref?.refId ?? "";
}
