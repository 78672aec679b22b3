import { ReverieError } from "@reverie/service-kit/errors";
import type { Kind, NewEntry, OwnerConfig } from "../store/store.js";
import { checkEntryId, makeEntryId } from "./entry-id.js";
import { fieldInvalid, fitsBytes, MAX_TEXT_BYTES, MAX_TIME_MS } from "./limits.js";
import { checkMeta } from "./meta.js";

/** An entry as a caller sends it. */
export interface EntryDraft {
  /** "" asks for a new one. */
  readonly id: string;
  /** undefined: none was named. */
  readonly kind: Kind | undefined;
  readonly text: string;
  /** JSON object text; "" means no meta. */
  readonly meta: string;
  /** Epoch milliseconds; undefined means now. */
  readonly ts: number | undefined;
}

/** TEXT_INVALID unless the text is 1 byte to 1 MiB of well-formed UTF-8. */
export function checkText(text: string): void {
  if (text.length > 0 && fitsBytes(text, MAX_TEXT_BYTES) && text.isWellFormed()) return;
  const size = Buffer.byteLength(text);
  const advice =
    size === 0
      ? "is empty; send at least 1 byte"
      : size > MAX_TEXT_BYTES
        ? `has ${size} bytes of UTF-8; send at most ${MAX_TEXT_BYTES}, or split it`
        : "holds a lone surrogate, which UTF-8 can't carry";
  throw new ReverieError("TEXT_INVALID", `the text ${advice}`, {
    metadata: { limit: String(MAX_TEXT_BYTES), size: String(size) },
  });
}

/** KIND_NOT_ALLOWED unless the owner's config allows the kind. */
function checkKind(kind: Kind, config: OwnerConfig): void {
  if (config.allowedKinds.includes(kind)) return;
  const allowed = config.allowedKinds.join(",");
  throw new ReverieError(
    "KIND_NOT_ALLOWED",
    `the owner's config doesn't allow ${kind} memories, only ${allowed}; use one of these or attach another config`,
    { metadata: { kind, allowed } },
  );
}

/** The entry to store, or an error of the first rule that the draft breaks. */
export function checkDraft(draft: EntryDraft, config: OwnerConfig, nowMs: number): NewEntry {
  const { kind, text, ts } = draft;
  if (kind === undefined) throw fieldInvalid("entry.kind", "name a kind: episodic, semantic or working");
  if (ts !== undefined && !(Number.isInteger(ts) && ts >= 0 && ts <= MAX_TIME_MS)) {
    throw fieldInvalid("entry.ts_ms", `must be 0 to ${MAX_TIME_MS}, whole milliseconds since the Unix epoch`);
  }
  if (draft.id !== "") checkEntryId(draft.id);
  checkText(text);
  const meta = checkMeta(draft.meta);
  checkKind(kind, config);
  return { id: draft.id === "" ? makeEntryId(nowMs) : draft.id, kind, text, ts: ts ?? nowMs, meta };
}
