import { createHmac } from "node:crypto";
import type { Kind } from "../store.js";
import { type EntryLine, firstMetaDigest } from "./line.js";

/**
 * What stays for 24 h of an entry that was forgotten or cleared: a keyed 64-bit hash, 16 hexadecimal digits, so
 * that a late retry is known without anybody being able to test a guess at the text.
 */
export function forgottenHash(secret: Buffer, id: string, kind: Kind, text: string, meta0: string): string {
  // Lengths keep the fields apart whatever they hold.
  return createHmac("sha256", secret).update(`${kind}:${meta0}:${id.length}:${id}:${text}`).digest("hex").slice(0, 16);
}

/** The same of an entry as it stands in a log. */
export function forgottenHashOf(secret: Buffer, kind: Kind, line: EntryLine, bytes: Buffer): string {
  return forgottenHash(secret, line.id, kind, line.text, firstMetaDigest(bytes, line));
}
