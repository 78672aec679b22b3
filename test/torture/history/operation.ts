import type { MemoryKind } from "@reverie/client";

/** What a client sends to store. */
export interface Item {
  readonly id: string;
  readonly kind: MemoryKind;
  readonly text: string;
  /** Epoch milliseconds. */
  readonly ts: number;
  /** JSON text as `canonicalMeta` writes it; "" for none. */
  readonly meta: string;
}

/** An entry as a reply shows it. */
export interface Version extends Item {
  readonly seq: number;
}

/** The service said no, with this reason. */
export interface Refused {
  readonly refused: string;
}

/** `seq` is the owner's, 0 where it has none. */
type Answer<T> = T & { readonly seq: number };

interface Calls {
  remember: { args: { item: Item }; reply: Answer<{ entry: Version; already: boolean }> };
  rememberMany: {
    args: { items: readonly Item[] };
    /** `seq` is the last stored item's. */
    reply: Answer<{
      stored: number;
      already: number;
      firstSeq: number;
      refusals: readonly { index: number; reason: string }[];
    }>;
  };
  patch: { args: { id: string; patch: Readonly<Record<string, unknown>> }; reply: Answer<{ entry?: Version }> };
  forget: { args: { id: string }; reply: Answer<{ found: boolean }> };
  clear: { args: { kinds: readonly MemoryKind[] }; reply: Answer<{ removed: number }> };
  softDelete: { args: object; reply: Answer<{ moved: boolean; refId: string }> };
  restore: { args: { refId: string }; reply: Answer<{ entries: number }> };
  get: { args: { id: string; minSeq: number }; reply: Answer<{ entry: Version }> };
  list: { args: { minSeq: number }; reply: Answer<{ entries: readonly Version[] }> };
  recall: { args: { text: string; minSeq: number }; reply: Answer<{ entries: readonly Version[] }> };
  describe: { args: { minSeq: number }; reply: Answer<{ counts: Readonly<Record<MemoryKind, number>> }> };
}

export type CallName = keyof Calls;

/** One attempt of one call to one owner: a retry is an operation of its own. */
export type Operation<C extends CallName = CallName> = {
  [Name in C]: Calls[Name]["args"] & {
    readonly call: Name;
    /** Monotonic milliseconds. */
    readonly begin: number;
    /** When the answer came; of an unknown outcome, when the process that may carry it out is gone. */
    readonly end: number;
    /** undefined: whether it happened is unknown. */
    readonly reply?: Calls[Name]["reply"] | Refused;
  };
}[C];

export type Arguments<C extends CallName> = Calls[C]["args"];
export type Reply<C extends CallName> = Calls[C]["reply"];

export function answerOf<C extends CallName>(op: Operation<C>): Reply<C> | undefined {
  return op.reply === undefined || "refused" in op.reply ? undefined : (op.reply as Reply<C>);
}

export function refusalOf(op: Operation): string | undefined {
  return op.reply !== undefined && "refused" in op.reply ? op.reply.refused : undefined;
}

/** The seq of its reply; 0 where there is none. */
export function seqOf(op: Operation): number {
  return answerOf(op)?.seq ?? 0;
}

export function canonicalMeta(metaJson: string): string {
  if (metaJson === "") return "";
  const meta = JSON.parse(metaJson) as Record<string, unknown>;
  return JSON.stringify(Object.fromEntries(Object.entries(meta).sort(([a], [b]) => (a < b ? -1 : 1))));
}

export function patchedMeta(meta: string, patch: Readonly<Record<string, unknown>>): string {
  return canonicalMeta(JSON.stringify({ ...(meta === "" ? {} : JSON.parse(meta)), ...patch }));
}

export function sameVersion(a: Version, b: Version): boolean {
  return (
    a.id === b.id && a.kind === b.kind && a.text === b.text && a.ts === b.ts && a.meta === b.meta && a.seq === b.seq
  );
}

/** For findings. */
export function describeOperation({ begin, end, ...op }: Operation): string {
  const text = JSON.stringify(op).replace(/"(\w+)":/g, "$1:");
  return `${text.length > 600 ? `${text.slice(0, 600)}…` : text} at ${begin.toFixed(1)}–${end.toFixed(1)} ms`;
}
