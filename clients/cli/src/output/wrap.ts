import wrapAnsi from "wrap-ansi";

/**
 * One line of text, broken into lines of at most `width` columns (2 or more), at spaces where there are some, else
 * between characters as a reader sees them. A character wider than that stands in a line of its own, whole. What goes
 * beyond `maxLines` is left out, and `…` ends the last line.
 */
export function wrap(text: string, width: number, maxLines = Number.POSITIVE_INFINITY): string[] {
  const lines = wrapAnsi(text, width, { hard: true }).split("\n");
  if (lines.length <= maxLines) return lines;
  const [last] = wrapAnsi(lines[maxLines - 1] ?? "", width - 1, { hard: true }).split("\n");
  return [...lines.slice(0, maxLines - 1), `${last}…`];
}
