import stringWidth from "string-width";
import { oneLine } from "./printable.js";
import type { Style } from "./style.js";
import { wrap } from "./wrap.js";

export interface Column {
  readonly title: string;
  /** The widest that it gets, columns; longer cells wrap. The last column takes what is left. */
  readonly max: number;
  /** The higher, the earlier it is left out where the terminal is narrow. 0, the default: never. */
  readonly spare?: number;
  readonly style?: keyof Style;
}

export interface TableOptions {
  /** Of the terminal. */
  readonly columns: number;
  readonly style: Style;
  /** Lines that the last cell of a row may take. Default 3. */
  readonly maxLines?: number;
}

/** A cell; `note` goes below its text, in one dim line. */
export type Cell = string | { readonly text: string; readonly note?: string };

const GAP = 2;
const MIN_LAST = 20;

/**
 * Rows as text, a batch at a time: the first batch decides how wide the columns are, so that later ones can be shown as
 * they come. Cells may hold anything: what would drive a terminal is made visible.
 */
export class TableWriter {
  #layout: { readonly index: number; readonly width: number }[] | undefined;

  constructor(
    readonly columns: readonly Column[],
    readonly options: TableOptions,
  ) {}

  /** The lines for these rows, the titles above the very first. "" when there are none. */
  render(rows: readonly (readonly Cell[])[]): string {
    if (rows.length === 0) return "";
    const first = this.#layout === undefined;
    this.#layout ??= this.#fit(rows);
    const layout = this.#layout;
    const titles = layout.map(({ index }) => [this.options.style.dim(this.columns[index]?.title.toUpperCase() ?? "")]);
    const cells = rows.map((row) =>
      layout.map((at, n) => this.#cell(row[at.index] ?? "", at, n === layout.length - 1)),
    );
    return (first ? [titles, ...cells] : cells).map((row) => this.#lines(row)).join("");
  }

  #lines(row: readonly (readonly string[])[]): string {
    let text = "";
    for (let n = 0; n < Math.max(...row.map(({ length }) => length)); n++) {
      let line = "";
      for (const [at, { width }] of (this.#layout ?? []).entries()) {
        const part = row[at]?.[n] ?? "";
        line += part + " ".repeat(Math.max(0, width + GAP - stringWidth(part)));
      }
      text += `${line.trimEnd()}\n`;
    }
    return text;
  }

  #cell(cell: Cell, { index, width }: { index: number; width: number }, last: boolean): string[] {
    const { text, note } = typeof cell === "string" ? { text: cell, note: undefined } : cell;
    const { style, maxLines = 3 } = this.options;
    const lines = wrap(oneLine(start(text, width * maxLines)), width, last ? maxLines : Number.POSITIVE_INFINITY);
    if (note !== undefined) lines.push(...wrap(oneLine(start(note, width)), width, 1).map(style.dim));
    const paint = this.columns[index]?.style;
    return paint === undefined ? lines : lines.map(style[paint]);
  }

  #fit(rows: readonly (readonly Cell[])[]): { index: number; width: number }[] {
    let shown = this.columns.map(({ title, max, spare = 0 }, index) => {
      const widest = rows.reduce(
        (most, row) => Math.max(most, stringWidth(oneLine(textOf(row[index] ?? "")))),
        title.length,
      );
      return { index, spare, width: Math.min(widest, max) };
    });
    const left = () => shown.slice(0, -1).reduce((sum, { width }) => sum - width - GAP, this.options.columns);
    while (left() < MIN_LAST) {
      const most = shown.reduce((worst, column) => (column.spare > worst.spare ? column : worst));
      if (most.spare === 0) break;
      shown = shown.filter((column) => column !== most);
    }
    const last = Math.max(MIN_LAST, left());
    return shown.map(({ index, width }, at) => ({ index, width: at === shown.length - 1 ? last : width }));
  }
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell.slice(0, 1_000) : "";
}

/** More than fits of a long text: a cell has no use for a megabyte. */
function start(text: string, columns: number): string {
  return Number.isFinite(columns) ? text.slice(0, columns * 8 + 1) : text;
}
