import type { OwnerRef } from "../store/store.js";
import { type BulkResult, BulkWriter } from "./bulk-writer.js";
import type { MemoryContext } from "./context.js";
import type { EntryDraft } from "./entry.js";

export interface RememberedMany extends BulkResult {
  /** Items looked at. */
  readonly received: number;
}

/** Stores a stream of entries, each under the rules of remember; stops reading after 1,000 refusals. */
export async function rememberMany(
  memory: MemoryContext,
  owner: OwnerRef,
  batches: AsyncIterable<readonly EntryDraft[]>,
): Promise<RememberedMany> {
  const writer = new BulkWriter(memory, owner);
  let received = 0;
  reading: for await (const batch of batches) {
    for (const draft of batch) {
      await writer.add(received++, draft);
      if (writer.stopped) break reading;
    }
  }
  return { ...(await writer.finish()), received };
}
