import type { MemoryClient, WatchChange } from "@reverie/client";
import { DemoError } from "./check.js";

const patienceMs = 5_000;

/** Follows an owner's changes beside what else the demo does. */
export class Watcher {
  private readonly changes: WatchChange[] = [];
  private readonly ending = new AbortController();
  private wake: () => void = () => {};
  private ready = false;
  private failure: unknown;
  private readonly done: Promise<void>;

  private constructor(client: MemoryClient, owner: string) {
    this.done = this.run(client, owner);
  }

  /** Resolves when the service says that the watch is up to date. */
  static async start(client: MemoryClient, owner: string): Promise<Watcher> {
    const watcher = new Watcher(client, owner);
    await watcher.until("the watch to begin", () => watcher.ready);
    return watcher;
  }

  /** The next change, in the order of the stream. */
  async next(what: string): Promise<WatchChange> {
    await this.until(what, () => this.changes.length > 0);
    return this.changes.shift() as WatchChange;
  }

  async stop(): Promise<void> {
    this.ending.abort();
    await this.done;
  }

  private async run(client: MemoryClient, owner: string): Promise<void> {
    try {
      for await (const update of client.watch(owner, { signal: this.ending.signal })) {
        this.ready = true;
        this.changes.push(...update.changes);
        this.wake();
      }
    } catch (error) {
      if (!this.ending.signal.aborted) this.failure = error;
      this.wake();
    }
  }

  private async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + patienceMs;
    while (!holds()) {
      if (this.failure !== undefined) throw this.failure;
      const left = deadline - performance.now();
      if (left <= 0) throw new DemoError(`waited ${patienceMs / 1000} s for ${what}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}
