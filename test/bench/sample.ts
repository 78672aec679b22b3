/** An entry as the bench makes it. */
export interface Sample {
  readonly id: string;
  readonly text: string;
  /** Epoch milliseconds. */
  readonly ts: number;
  /** JSON object text, "" for none. */
  readonly meta: string;
}
