import type { MemoryKind } from "@reverie/client";
import { sameVersion, type Version } from "./operation.js";
import type { OwnerModel } from "./owner-model.js";

/** What a watcher was told, in its order. */
export type WatchEvent =
  | { readonly upserted: Version }
  | { readonly deleted: { readonly id: string; readonly kind: MemoryKind; readonly seq: number } }
  /** It was told to list again, did, and goes on behind the listing's seq. */
  | { readonly listed: readonly Version[]; readonly seq: number };

/** What a watcher that followed an owner to its end was told wrongly, or not at all. */
export function checkWatch(events: readonly WatchEvent[], model: OwnerModel): string[] {
  const wrong: string[] = [];
  const replica = new Map<string, Version>();
  let last = 0;
  const say = (what: string, event: WatchEvent): void => void wrong.push(`watch: ${what}: ${JSON.stringify(event)}`);
  for (const event of events) {
    if ("listed" in event) {
      replica.clear();
      for (const entry of event.listed) replica.set(entry.id, entry);
      last = event.seq;
      continue;
    }
    const { seq, id } = "upserted" in event ? event.upserted : event.deleted;
    if (seq <= last) say(`seq ${seq} came after ${last}`, event);
    last = Math.max(last, seq);
    const change = model.entries.setAt(id, seq);
    if ("upserted" in event) {
      if (change?.value === undefined || !sameVersion(change.value, event.upserted)) say("no such change", event);
      replica.set(id, event.upserted);
    } else {
      if (change === undefined || change.value !== undefined) say("no such change", event);
      else if (model.entries.at(id, seq - 1)?.kind !== event.deleted.kind) say("of another kind", event);
      replica.delete(id);
    }
  }
  const expected = model.list();
  for (const entry of expected) {
    const known = replica.get(entry.id);
    if (known === undefined || !sameVersion(entry, known))
      wrong.push(`watch: ends with ${JSON.stringify(known)}, not ${JSON.stringify(entry)}`);
  }
  for (const id of replica.keys())
    if (expected.every((entry) => entry.id !== id)) wrong.push(`watch: wasn't told that ${id} is gone`);
  return wrong;
}
