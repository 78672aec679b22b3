import type { OwnerRef } from "../store/store.js";
import { type BulkResult, BulkWriter } from "./bulk-writer.js";
import type { MemoryContext } from "./context.js";
import { readImportLine } from "./import-line.js";
import { fieldInvalid, MAX_IMPORT_LINE_BYTES } from "./limits.js";
import { LineSplitter, type SplitLine } from "./line-splitter.js";

export interface Imported extends BulkResult {
  /** Blank and control lines. */
  readonly skippedLines: number;
}

/**
 * Stores the entries of JSONL bytes that come in chunks, under the rules of remember. A line over 16 MiB is refused.
 * Stops reading after 1,000 refusals.
 */
export async function importOwner(
  memory: MemoryContext,
  owner: OwnerRef,
  chunks: AsyncIterable<Uint8Array>,
): Promise<Imported> {
  const writer = new BulkWriter(memory, owner);
  const splitter = new LineSplitter(MAX_IMPORT_LINE_BYTES);
  let index = 0;
  let skippedLines = 0;

  const take = async (line: SplitLine): Promise<void> => {
    const at = index++;
    if (line === undefined) {
      writer.refuse(at, "", fieldInvalid("line", `is over ${MAX_IMPORT_LINE_BYTES} bytes`));
      return;
    }
    const read = readImportLine(at === 0 ? withoutMark(line) : line);
    if (read === undefined) skippedLines++;
    else if ("error" in read) writer.refuse(at, read.id, read.error);
    else await writer.add(at, read);
  };

  reading: for await (const chunk of chunks) {
    for (const line of splitter.push(chunk)) {
      await take(line);
      if (writer.stopped) break reading;
    }
  }
  if (!writer.stopped) for (const line of splitter.end()) await take(line);
  return { ...(await writer.finish()), skippedLines };
}

/** The first line without the byte order mark that some editors write. */
function withoutMark(line: Buffer): Buffer {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;
}
