/** Well-formed Unicode of at most `maxBytes` of UTF-8; a lone surrogate in a message hangs connect-node for ever. */
export function boundedText(text: string, maxBytes: number): string {
  // No code unit takes more than 3 bytes.
  if (text.length * 3 <= maxBytes) return text.toWellFormed();
  const wellFormed = text.slice(0, maxBytes).toWellFormed();
  const bytes = Buffer.from(wellFormed, "utf8");
  if (bytes.length <= maxBytes && text.length <= maxBytes) return wellFormed;
  let end = Math.min(bytes.length, maxBytes - 3);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${bytes.toString("utf8", 0, end)}…`;
}
