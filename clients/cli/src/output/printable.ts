/** What would move the cursor, change colours or the title, or turn the order of what follows: C0, DEL, C1, bidi marks. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu;
const UNSAFE_BUT_LINE_BREAKS = new RegExp(`(?!\n)${UNSAFE.source}`, "gu");
const UNSAFE_BUT_LINE_BREAKS_AND_TABS = new RegExp(`(?![\n\t])${UNSAFE.source}`, "gu");

/** Text as one line that can't drive a terminal: line breaks as `⏎`, other control characters as `\x1b`, `\u202e`. */
export function oneLine(text: string): string {
  return text
    .replace(/\s*(?:\r\n|\n)\s*/g, " ⏎ ")
    .replaceAll("\t", " ")
    .replace(UNSAFE, visible)
    .toWellFormed();
}

/** The same with its lines and tabs kept. */
export function manyLines(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSAFE_BUT_LINE_BREAKS_AND_TABS, visible).toWellFormed();
}

/** JSON text that means the same and can't drive a terminal. */
export function safeJson(json: string): string {
  return json.replace(UNSAFE, jsonEscape);
}

/** The same of JSONL. White space outside strings is escaped too, which is for eyes only. */
export function safeJsonLines(lines: string): string {
  return lines.replace(UNSAFE_BUT_LINE_BREAKS, jsonEscape);
}

function visible(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

function jsonEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
