import { decodeLine, encodeEntry, encodeHead, LEGACY_ORD_BASE, type Range, readStale } from "../line.js";
import type { Log } from "../log.js";
import { MAX_LINE_BYTES } from "../log-lines.js";
import type { LineObservation } from "./finding.js";
import type { Quarantine } from "./quarantine.js";
import type { LogScan } from "./scan-log.js";

/** Lines are written when they have this size. */
const BATCH_BYTES = 4 * 1024 * 1024;

export interface Adoption {
  readonly observation: LineObservation;
  /** The entry's place in the order; undefined: that of its new seq. */
  readonly ord: number | undefined;
}

export interface AdoptionPlan {
  readonly byLog: ReadonlyMap<LogScan, readonly Adoption[]>;
  /** New lines get seqs above this. */
  readonly above: number;
  /** The first new line is preceded by a head that holds `above`. */
  readonly needsHead: boolean;
}

/**
 * Which stale lines of an owner can be served again, and with which seqs. `rootSeq` is what no owner starts below;
 * undefined where it is unknown. Sets the obstacle of those that can't.
 */
export function planAdoptions(scans: readonly LogScan[], rootSeq: number | undefined): AdoptionPlan {
  const hasSeq = scans.some(({ state }) => state.hasSeq);
  const base = hasSeq ? Math.max(...scans.map(({ state }) => state.maxSeq)) : (rootSeq ?? 0);
  // A damaged line's seq may be the damage itself: it counts only where lines are missing up to it.
  const damaged = scans.reduce((sum, { state }) => sum + state.corruptLines, 0);
  const seqs = scans.flatMap(({ stale }) => stale.map(({ seq }) => seq)).filter((seq) => seq <= base + damaged);
  const above = seqs.reduce((highest, seq) => Math.max(highest, seq), base);

  const refusal = scans.some((scan) => scan.isBroken)
    ? "one of the owner's logs can't be read, so nothing is adopted: mend that first"
    : rootSeq === undefined
      ? "the data directory's .seq can't be read, so nothing is adopted: see what is said of it, or run with --fix as well"
      : undefined;
  const ordsInUse = findOrds(scans);
  const byLog = new Map<LogScan, Adoption[]>();
  const taken = new Set<string>();
  for (const scan of [...scans].reverse()) {
    const adoptions: Adoption[] = [];
    // The last line of an id is the one that was written last.
    for (const { observation, seq, ord = seq } of [...scan.stale].reverse()) {
      const id = observation.id ?? "";
      observation.obstacle = refusal ?? (taken.has(id) || isLive(scans, id) ? ID_IN_USE : undefined);
      taken.add(id);
      if (observation.obstacle !== undefined) continue;
      const keepsOrd = ord !== 0 && ord <= above && ord >= -LEGACY_ORD_BASE && !ordsInUse.has(ord);
      if (keepsOrd) ordsInUse.add(ord);
      adoptions.push({ observation, ord: keepsOrd ? ord : undefined });
    }
    if (adoptions.length > 0) byLog.set(scan, adoptions.reverse());
  }
  return { byLog, above, needsHead: !hasSeq && base > 0 };
}

const ID_IN_USE =
  "another entry of the owner has this id, so it is not adopted: to keep what it says, Remember that under another id. The line goes when its id is forgotten, the other entry with it, or with Clear";

function isLive(scans: readonly LogScan[], id: string): boolean {
  return scans.some(({ state: { index } }) => index.find(id).some((i) => index.isLive(i)));
}

/** Those ords of stale lines that live entries have, too: a place is one entry's. */
function findOrds(scans: readonly LogScan[]): Set<number> {
  const wanted = new Set(scans.flatMap(({ stale }) => stale.map(({ seq, ord = seq }) => ord)));
  const found = new Set<number>();
  if (wanted.size === 0) return found;
  for (const { state } of scans) {
    const { index } = state;
    for (let i = 0; i < index.count; i++) {
      if (index.isLive(i) && wanted.has(index.ord(i))) found.add(index.ord(i));
    }
  }
  return found;
}

/**
 * Writes stale lines anew with checksums of their own, as a patch would: the old bytes go into quarantine, the new
 * lines are synced, and only then the old ones are erased. Returns the highest seq given out.
 */
export async function adopt(
  log: Log,
  adoptions: readonly Adoption[],
  from: { readonly seq: number; readonly head: boolean },
  quarantine: Quarantine,
): Promise<number> {
  let { seq } = from;
  let { maxTs, maxOrd } = log.state.index;
  let lines: Buffer[] = from.head ? [encodeHead(seq, seq, 0)] : [];
  let bytes = 0;
  let replaced: { readonly range: Range; readonly observation: LineObservation }[] = [];
  const commit = async (): Promise<void> => {
    await quarantine.flush();
    await append(log, lines);
    for (const { range } of replaced) log.state.index.kill(log.state.index.atOffset(range.at));
    await log.erase(replaced.map(({ range }) => range));
    await log.sync();
    for (const { observation } of replaced) observation.done = true;
    lines = [];
    bytes = 0;
    replaced = [];
  };
  for (const { observation, ord: place } of adoptions) {
    const range = { at: observation.at, len: observation.bytes };
    const old = Buffer.from(log.readRange(range.at, range.len));
    const entry = readStale(old);
    if (entry === undefined) continue;
    const { id, text, ts, meta, meta0 } = entry;
    const ord = place ?? seq + 1;
    const late = ts < maxTs || (ts === maxTs && ord < maxOrd);
    const line = encodeEntry({ id, kind: log.kind, text, ts, meta, seq: seq + 1, ord, late, meta0, was: range });
    if (line.length > MAX_LINE_BYTES) {
      observation.obstacle = "with a checksum its line would be over 64 MiB: Forget it and Remember it in parts";
      continue;
    }
    seq++;
    if (!late) [maxTs, maxOrd] = [ts, ord];
    await quarantine.add(observation, (at, length) => old.subarray(at - range.at, at - range.at + length));
    lines.push(line);
    bytes += line.length;
    replaced.push({ range, observation });
    if (bytes >= BATCH_BYTES) await commit();
  }
  if (replaced.length > 0) await commit();
  return seq;
}

async function append(log: Log, lines: readonly Buffer[]): Promise<void> {
  await log.write(Buffer.concat(lines));
  try {
    await log.sync();
  } catch (error) {
    // After a failed sync nobody knows what is on the disk: the next run must not take these lines for stored.
    await log.unwrite();
    throw error;
  }
  for (const line of lines) {
    const withoutNewline = line.subarray(0, -1);
    log.state.apply(decodeLine(withoutNewline), withoutNewline, log.state.size);
  }
}
