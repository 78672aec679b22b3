import { type MemoryClient, type Owner, ReverieError, toProtoOwner } from "@reverie/client";
import type { WatchEvent } from "./check-watch.js";
import { kindName, versionOf } from "./replies.js";

/** Follows an owner across lost connections, and lists it again when told to. */
export class Watcher {
  readonly events: WatchEvent[] = [];
  private readonly stop = new AbortController();
  private cursor = 0;
  private readonly done: Promise<void>;

  constructor(
    private readonly client: MemoryClient,
    private readonly owner: Owner,
  ) {
    this.done = this.follow();
  }

  /** Until it has caught up with this seq. */
  async reach(seq: number, timeoutMs: number): Promise<void> {
    const until = performance.now() + timeoutMs;
    while (this.cursor < seq && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
    this.stop.abort();
    await this.done;
  }

  private async follow(): Promise<void> {
    const { signal } = this.stop;
    while (!signal.aborted) {
      try {
        await this.watch(signal);
      } catch (error) {
        if (error instanceof ReverieError && error.reason === "WATCH_CURSOR_EXPIRED") await this.list();
      }
      // A lost connection: the stub has waited already.
    }
  }

  private async watch(signal: AbortSignal): Promise<void> {
    const request = { owner: toProtoOwner(this.owner), afterSeq: BigInt(this.cursor) };
    for await (const { event } of this.client.memory.watch(request, { signal, timeoutMs: 0 })) {
      if (event.case === "cursor") this.cursor = Number(event.value.seq);
      if (event.case !== "batch") continue;
      for (const { change } of event.value.changes) {
        if (change.case === "upserted") this.events.push({ upserted: versionOf(change.value) });
        if (change.case !== "deleted") continue;
        const { id, kind, seq } = change.value;
        this.events.push({ deleted: { id, kind: kindName(kind), seq: Number(seq) } });
      }
      this.cursor = Number(event.value.cursor);
    }
  }

  private async list(): Promise<void> {
    try {
      const { entries, seq } = await this.client.memory.listEntries({ owner: toProtoOwner(this.owner), pageSize: 500 });
      this.events.push({ listed: entries.map(versionOf), seq: Number(seq) });
      this.cursor = Number(seq);
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
    }
  }
}
