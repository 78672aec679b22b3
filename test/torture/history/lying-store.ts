import type { AppendResult, ListPage, MemoryStore, OwnerRef } from "../../../memory-service/src/store/store.js";
import type { Random } from "../../lib/random.js";

/** What a store does wrong now and then. */
export const LIES = ["stale reads", "lost writes", "one seq for two writes", "forgotten entries kept"] as const;
export type Lie = (typeof LIES)[number];

/** Of so many calls that could be answered wrongly one is. */
const ONE_IN = 12;

/** A real store that tells one sort of lie. */
export function lyingStore(store: MemoryStore, lie: Lie, random: Random): MemoryStore {
  const now = (): boolean => random() < 1 / ONE_IN;
  const pages = new Map<string, ListPage>();
  const appended = new Map<string, AppendResult>();
  const keyOf = ({ kind, id }: OwnerRef): string => `${kind}/${id}`;

  const list: MemoryStore["list"] = async (owner, query) => {
    const old = pages.get(keyOf(owner));
    if (lie === "stale reads" && old !== undefined && now()) return old;
    const page = await store.list(owner, query);
    pages.set(keyOf(owner), page);
    return page;
  };
  const append: MemoryStore["append"] = async (owner, entries) => {
    if (lie === "lost writes" && now()) {
      const { seq } = await store.describe(owner, { minSeq: 0 });
      const outcomes = entries.map((entry, i) => {
        const at = seq + i + 1;
        return { status: "stored" as const, entry: { ...entry, seq: at, ord: at } };
      });
      return { outcomes, seq: seq + entries.length, droppedByCaps: 0 };
    }
    const result = await store.append(owner, entries);
    const [outcome] = result.outcomes;
    const before = appended.get(keyOf(owner));
    if (lie !== "one seq for two writes" || entries.length !== 1 || outcome.status !== "stored") return result;
    appended.set(keyOf(owner), result);
    if (before === undefined || !now()) return result;
    return { ...result, seq: before.seq, outcomes: [{ ...outcome, entry: { ...outcome.entry, seq: before.seq } }] };
  };
  const forget: MemoryStore["forget"] = async (owner, id) => {
    if (lie !== "forgotten entries kept" || !now()) return store.forget(owner, id);
    const { copies, seq } = await store.get(owner, id, { minSeq: 0 });
    return { copies, seq };
  };
  const lies: Partial<MemoryStore> = { list, append, forget };
  return new Proxy(store, {
    get(target, name) {
      const found = lies[name as keyof MemoryStore] ?? Reflect.get(target, name, target);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}
