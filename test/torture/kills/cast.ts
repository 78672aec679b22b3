import type { MemoryKind, Owner } from "@reverie/client";
import { ExpectedOwner } from "../expected-owner.js";
import type { Habits } from "./habits.js";
import { Writer } from "./writer.js";

/** Small, so that it is passed again and again; half of it still holds what two writers have under way. */
export const CAP_BYTES = 64 * 1024;

/** An owner of the load, what it must hold, and who writes to it. */
export interface Member {
  readonly owner: Owner;
  readonly expected: ExpectedOwner;
  readonly writers: readonly Writer[];
  readonly capped: boolean;
}

const ALL: readonly MemoryKind[] = ["episodic", "semantic", "working"];
const busy: Habits = {
  kinds: ALL,
  mix: { remember: 40, rememberMany: 3, import: 3, forget: 20, patch: 15, repeat: 3, lateRetry: 3, recall: 4 },
};
const clearing: Habits = { ...busy, mix: { ...busy.mix, clear: 2 } };
const moving: Habits = { ...busy, mix: { remember: 30, forget: 10, patch: 10, trash: 4, clearAll: 1, discard: 1 } };
const overfull: Habits = { kinds: ["episodic"], mix: { remember: 50, forget: 5, repeat: 2, lateRetry: 1 } };

export function makeCast(): Member[] {
  return [
    member({ kind: "agent", id: "busy" }, [clearing, busy, busy]),
    member({ kind: "user", id: "büsy" }, [clearing, busy, busy]),
    member({ kind: "shared", id: "moving" }, [moving]),
    member({ kind: "agent", id: "overfull" }, [overfull, overfull], "episodic"),
  ];
}

function member(owner: Owner, habits: readonly Habits[], capped?: MemoryKind): Member {
  const expected = new ExpectedOwner(capped);
  const writers = habits.map((one, i) => new Writer(owner, expected, `${owner.id}.${i}`, one));
  return { owner, expected, writers, capped: capped !== undefined };
}
