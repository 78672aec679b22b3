import { resized } from "./columns.js";
import { hashHigh, hashId, hashLow } from "./id-hash.js";

/** A look into a large table waits for memory; many in a row wait together. */
const PLACED_AT_ONCE = 1024;

/** From an id's hash to entry numbers: 8 bytes an entry for the hash, and a table of open addressing. */
export class IdTable {
  private low = new Uint32Array(0);
  private high = new Uint32Array(0);
  /** Entry number + 1; 0 for an empty place. */
  private places = new Uint32Array(16);
  private used = 0;
  /** Entries from here on have no place yet. */
  private unplaced = 0;
  private count = 0;

  /** `isGone`: entries that need no place any more. */
  constructor(private readonly isGone: (i: number) => boolean) {}

  /** Makes room for entry numbers below `capacity`, which all have to be. */
  resize(capacity: number): void {
    this.low = resized(this.low, capacity);
    this.high = resized(this.high, capacity);
  }

  /** Makes place for as many ids at once: else each growth places all anew. */
  reserve(ids: number): void {
    if (ids * 5 >= this.places.length * 3) this.rebuild(ids - this.used);
  }

  add(i: number, id: string): void {
    hashId(id);
    this.low[i] = hashLow();
    this.high[i] = hashHigh();
    this.count = i + 1;
    if (this.count - this.unplaced >= PLACED_AT_ONCE) this.placeAll();
  }

  /** Entries whose id has this id's hash, oldest first; check the id itself. */
  find(id: string): number[] {
    hashId(id);
    return this.findHash(hashLow(), hashHigh());
  }

  /** Entries whose id has the hash of entry `i`'s. */
  findLike(i: number): number[] {
    return this.findHash(this.low[i], this.high[i]);
  }

  private findHash(low: number, high: number): number[] {
    this.placeAll();
    const found: number[] = [];
    const mask = this.places.length - 1;
    for (let at = low & mask; this.places[at] !== 0; at = (at + 1) & mask) {
      const i = this.places[at] - 1;
      if (this.low[i] === low && this.high[i] === high && !this.isGone(i)) found.push(i);
    }
    return found.length > 1 ? found.sort((a, b) => a - b) : found;
  }

  private placeAll(): void {
    const unplaced = this.count - this.unplaced;
    if ((this.used + unplaced) * 5 >= this.places.length * 3) this.rebuild(unplaced);
    for (; this.unplaced < this.count; this.unplaced++) this.place(this.unplaced);
  }

  private place(i: number): void {
    const mask = this.places.length - 1;
    let at = this.low[i] & mask;
    while (this.places[at] !== 0) at = (at + 1) & mask;
    this.places[at] = i + 1;
    this.used++;
  }

  /** Leaves out what is gone, and makes place for `more`. */
  private rebuild(more: number): void {
    const kept = this.places.filter((place) => place !== 0 && !this.isGone(place - 1));
    let size = this.places.length;
    while (kept.length * 5 >= size * 2 || (kept.length + more) * 5 >= size * 3) size *= 2;
    this.places = new Uint32Array(size);
    this.used = 0;
    for (const place of kept) this.place(place - 1);
  }
}
