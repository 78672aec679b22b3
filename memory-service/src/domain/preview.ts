import type { Kind, MemoryStore, OwnerRef, Position, StoredEntry } from "../store/store.js";
import { MAX_PAGE_SIZE, MAX_PREVIEW_BYTES } from "./limits.js";

function lineOf({ id, kind, text, ts, meta }: StoredEntry): string {
  const line = JSON.stringify({ id, kind, text, ts });
  return meta === "" ? `${line}\n` : `${line.slice(0, -1)},"meta":${meta}}\n`;
}

/** The newest entries as JSONL, at most 32 KiB; ends before the first that doesn't fit. */
export async function previewOwner(store: MemoryStore, owner: OwnerRef, kinds: readonly Kind[]): Promise<string> {
  let preview = "";
  let room = MAX_PREVIEW_BYTES;
  let after: Position | undefined;
  do {
    const from = after === undefined ? {} : { after };
    const query = {
      kinds,
      order: "newest",
      limit: MAX_PAGE_SIZE,
      maxBytes: MAX_PREVIEW_BYTES,
      minSeq: 0,
      ...from,
    } as const;
    const page = await store.list(owner, query);
    for (const entry of page.entries) {
      const line = lineOf(entry);
      room -= Buffer.byteLength(line);
      if (room < 0) return preview;
      preview += line;
    }
    after = page.next;
  } while (after !== undefined);
  return preview;
}
