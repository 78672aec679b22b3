/** What a message of a stream holds together at most, bytes. */
const BATCH_BYTES = 64 * 1024;
/** Tags, lengths and numbers of one entry or deletion take less. */
const ITEM_OVERHEAD_BYTES = 64;

/** Where to cut a list so that each part is sent as one message: up to 64 KiB together, or one larger item. */
export function* batchEnds<T>(items: readonly T[], texts: (item: T) => readonly string[]): Generator<number> {
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    let size = ITEM_OVERHEAD_BYTES;
    for (const text of texts(item)) size += Buffer.byteLength(text);
    if (bytes > 0 && bytes + size > BATCH_BYTES) {
      yield index;
      bytes = 0;
    }
    bytes += size;
  }
  if (items.length > 0) yield items.length;
}
