import type { Output } from "./output/output.js";
import { bytes } from "./output/units.js";

export interface Amount {
  readonly entries?: number;
  readonly bytes: number;
}

const EVERY_MS = 100;
const CLEAR_LINE = "\r\x1b[K";

/** One line on stderr that says how far it is, while stderr is a terminal; gone when it is done. */
export class Progress {
  readonly #shown: boolean;
  #last = 0;
  #drawn = false;

  constructor(
    readonly output: Output,
    /** Such as `Exporting`. */
    readonly what: string,
    /** What there will be, where it is known. */
    readonly total: Partial<Amount> = {},
  ) {
    this.#shown = output.stderr.isTTY === true && !output.jsonNotes;
  }

  update(amount: Amount, total = this.total): void {
    const now = performance.now();
    if (!this.#shown || now - this.#last < EVERY_MS) return;
    this.#last = now;
    this.#drawn = true;
    const line = `${this.what} ${progressText(amount, total)}`;
    this.output.stderr.write(`${CLEAR_LINE}${line.slice(0, Math.max(10, (this.output.stderr.columns || 80) - 1))}`);
  }

  /** Takes the line away. May be called twice. */
  done(): void {
    if (this.#drawn) this.output.stderr.write(CLEAR_LINE);
    this.#drawn = false;
  }
}

export function progressText(amount: Amount, total: Partial<Amount>): string {
  const of = (whole: number | undefined, show: (n: number) => string) =>
    whole === undefined || whole === 0 ? "" : ` of ${show(whole)}`;
  const number = (n: number) => n.toLocaleString("en");
  const entries = amount.entries === undefined ? "" : `${number(amount.entries)}${of(total.entries, number)} entries, `;
  const share = total.bytes ? ` (${Math.min(100, Math.floor((100 * amount.bytes) / total.bytes))} %)` : "";
  return `${entries}${bytes(amount.bytes)}${of(total.bytes, bytes)}${share}`;
}
