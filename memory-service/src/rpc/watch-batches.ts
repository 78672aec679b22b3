import type { WatchChange, WatchStep } from "../store/store.js";
import { batchEnds } from "./batch-ends.js";

function seqOf(change: WatchChange): number {
  return "upserted" in change ? change.upserted.seq : change.deleted.seq;
}

function textsOf(change: WatchChange): string[] {
  if (!("upserted" in change)) return [change.deleted.id];
  const { id, text, meta } = change.upserted;
  return [id, text, meta];
}

/**
 * A step's changes in batches of up to 64 KiB. A step may hold far more: older entries share seq 0, and no cursor lies
 * between them. A batch that ends among changes of one seq says to resume before that seq.
 */
export function* watchBatches(step: WatchStep): Generator<WatchStep> {
  let first = 0;
  for (const end of batchEnds(step.changes, textsOf)) {
    const changes = step.changes.slice(first, end);
    const [last, next] = [step.changes[end - 1], step.changes[end]];
    let { cursor } = step;
    if (last !== undefined && next !== undefined) {
      const seq = seqOf(last);
      cursor = seqOf(next) > seq ? seq : Math.max(0, seq - 1);
    }
    yield { changes, cursor };
    first = end;
  }
}
