import type { Kind } from "../store.js";
import { forgottenHash } from "./forgotten-hash.js";
import { metaDigest, metaOf } from "./line.js";
import type { Log } from "./log.js";
import type { Owner } from "./owner.js";

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
    await owner.removeTorn(log);
    const { index, corruptLines } = log.state;
    if (index.live === 0 && corruptLines === 0) continue;
    const { live } = index;
    const hashes = await hashLive(owner, log);
    const seq = owner.takeSeq();
    await owner.writer.compactor.rewrite(log, {
      floor: seq,
      keep: () => false,
      leaveBad: true,
      cleared: { hashes, seq, ts: owner.now(), bytes: 0 },
    });
    owner.settleSeq();
    cleared(live);
  }
}

async function hashLive(owner: Owner, log: Log): Promise<string[]> {
  const { index } = log.state;
  const hashes: string[] = [];
  let yieldAt = performance.now() + SLICE_MS;
  for (let i = 0; i < index.count; i++) {
    if (!index.isLive(i)) continue;
    const found = log.entry(i);
    if (found === undefined) continue;
    const { line, bytes } = found;
    hashes.push(
      forgottenHash(owner.secret, line.id, log.kind, line.text, line.meta0 ?? metaDigest(metaOf(bytes, line))),
    );
    if (performance.now() > yieldAt) {
      await new Promise(setImmediate);
      yieldAt = performance.now() + SLICE_MS;
    }
  }
  return hashes;
}
