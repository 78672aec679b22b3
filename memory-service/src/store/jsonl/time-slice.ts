/** How long work may keep the event loop before it gives way. */
export class TimeSlice {
  private until: number;

  /** Milliseconds. */
  constructor(private readonly ms: number) {
    this.until = performance.now() + ms;
  }

  get isOver(): boolean {
    return performance.now() > this.until;
  }

  /** To be called when others had their turn some other way. */
  restart(): void {
    this.until = performance.now() + this.ms;
  }

  async giveWay(): Promise<void> {
    await new Promise(setImmediate);
    this.restart();
  }
}
