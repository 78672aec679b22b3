import type { Kind } from "../store.js";
import { forgottenHashOf } from "./forgotten-hash.js";
import type { Log } from "./log.js";
import type { Owner } from "./owner.js";
import { TimeSlice } from "./time-slice.js";

/** How long hashing may keep the event loop, milliseconds. */
const SLICE_MS = 8;

/** Leaves nothing of these kinds but the hashes of what was live. Within an exclusive turn. Says log by log how many went. */
export async function clearLogs(
  owner: Owner,
  kinds: readonly Kind[],
  cleared: (entries: number) => void,
): Promise<void> {
  for (const log of owner.logs) {
    if (!kinds.includes(log.kind)) continue;
    await owner.removeKeptAside(log);
    const { index, corruptLines } = log.state;
    if (index.live === 0 && corruptLines === 0) continue;
    const { live } = index;
    const hashes = await hashLive(owner, log);
    const seq = owner.takeSeq();
    await owner.writer.compactor.rewrite(log, {
      floor: seq,
      keep: () => false,
      leaveBad: true,
      cleared: { hashes, seq, ts: owner.now() },
      switched: () => owner.settleSeq(),
    });
    cleared(live);
  }
}

async function hashLive(owner: Owner, log: Log): Promise<string[]> {
  const { index } = log.state;
  const hashes: string[] = [];
  const slice = new TimeSlice(SLICE_MS);
  for (let i = 0; i < index.count; i++) {
    if (!index.isLive(i)) continue;
    const found = log.entry(i);
    if (found !== undefined) hashes.push(forgottenHashOf(owner.secret, log.kind, found.line, found.bytes));
    if (slice.isOver) await slice.giveWay();
  }
  return hashes;
}
