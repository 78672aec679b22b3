import { KINDS, type WatchChange } from "../../src/store/store.js";
import { agent, type openStore } from "./support.js";

type Store = Awaited<ReturnType<typeof openStore>>;

/** Watches an owner as a client does that keeps a copy: told that it missed something, it takes all anew. */
export class Follower {
  /** "+id" and "-id" as they came; "anew" where the watch ended and began again at 0. */
  readonly events: string[] = [];
  readonly seqs: number[] = [];
  readonly live = new Map<string, string>();
  /** Steps without a change: up to date. */
  quiet = 0;
  /** What ended it for good. */
  failed: unknown;
  private readonly abort = new AbortController();
  private readonly running: Promise<void>;

  constructor(
    private readonly store: Store,
    private readonly afterSeq: number | undefined,
    private readonly owner = agent,
  ) {
    this.running = this.follow();
  }

  async stop(): Promise<void> {
    this.abort.abort();
    await this.running;
  }

  private async follow(): Promise<void> {
    let afterSeq = this.afterSeq;
    while (!this.abort.signal.aborted) {
      try {
        const query = { kinds: KINDS, idleMs: 60_000, ...(afterSeq !== undefined && { afterSeq }) };
        for await (const { changes } of this.store.watch(this.owner, query, this.abort.signal)) {
          if (changes.length === 0) this.quiet++;
          for (const change of changes) this.take(change);
        }
      } catch (error) {
        if ((error as { reason?: string }).reason !== "WATCH_CURSOR_EXPIRED") {
          this.failed = error;
          return;
        }
        this.events.push("anew");
        this.live.clear();
        afterSeq = 0;
      }
    }
  }

  private take(change: WatchChange): void {
    if ("upserted" in change) {
      const { id, text, seq } = change.upserted;
      this.events.push(`+${id}`);
      this.seqs.push(seq);
      this.live.set(id, text);
    } else {
      this.events.push(`-${change.deleted.id}`);
      this.seqs.push(change.deleted.seq);
      this.live.delete(change.deleted.id);
    }
  }
}
