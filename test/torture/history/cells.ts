/** Named values with their whole past: each is as of a seq, and the latest can be taken back. */
export class Cells<T> {
  private readonly pasts = new Map<string, { readonly seq: number; readonly value: T | undefined }[]>();
  private readonly order: { readonly seq: number; readonly name: string }[] = [];

  /** `seq` is no lower than any before. */
  set(seq: number, name: string, value: T | undefined): void {
    const past = this.pasts.get(name);
    if (past === undefined) this.pasts.set(name, [{ seq, value }]);
    else past.push({ seq, value });
    this.order.push({ seq, name });
  }

  /** Takes back all from this seq on. */
  undo(seq: number): void {
    for (let last = this.order.at(-1); last !== undefined && last.seq >= seq; last = this.order.at(-1)) {
      this.order.pop();
      this.pasts.get(last.name)?.pop();
    }
  }

  at(name: string, seq = Number.POSITIVE_INFINITY): T | undefined {
    const past = this.pasts.get(name);
    if (past === undefined) return undefined;
    let low = 0;
    let high = past.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (past[middle].seq <= seq) low = middle + 1;
      else high = middle;
    }
    return past[low - 1]?.value;
  }

  /** What this very seq set it to. */
  setAt(name: string, seq: number): { readonly value: T | undefined } | undefined {
    return this.pasts.get(name)?.find((one) => one.seq === seq);
  }

  /** All that have a value as of this seq. */
  all(seq = Number.POSITIVE_INFINITY): [string, T][] {
    const found: [string, T][] = [];
    for (const name of this.pasts.keys()) {
      const value = this.at(name, seq);
      if (value !== undefined) found.push([name, value]);
    }
    return found;
  }
}
