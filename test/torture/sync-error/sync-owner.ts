import { type MemoryClient, type Owner, ReverieError, toProtoOwner } from "@reverie/client";
import { Kind } from "@reverie/proto/memory";

/** What a change does. `many` is several at once, `both` one batch over two logs. */
export const CHANGES = ["remember", "many", "both", "patch", "forget"] as const;
export type ChangeName = (typeof CHANGES)[number];

/** An owner whose every call's outcome is known: what it must hold is exactly what was acknowledged. */
export class SyncOwner {
  acknowledged = 0;
  refused = 0;
  /** Meta by id. */
  private readonly held = new Map<string, string>();
  private made = 0;
  private readonly proto: ReturnType<typeof toProtoOwner>;

  constructor(readonly owner: Owner) {
    this.proto = toProtoOwner(owner);
  }

  /** Makes a change. Returns the reason of its refusal; undefined when it was acknowledged. */
  async change(client: MemoryClient, name: ChangeName): Promise<string | undefined> {
    const { memory } = client;
    const owner = this.proto;
    switch (name) {
      case "remember":
        return this.store(client, [Kind.EPISODIC]);
      case "both":
        return this.store(client, [Kind.EPISODIC, Kind.SEMANTIC]);
      case "many": {
        const all = await Promise.all(Array.from({ length: 8 }, () => this.store(client, [Kind.EPISODIC])));
        // Those that a failed sync had not reached may come later, but none is acknowledged while the owner is stopped.
        return all.includes(undefined) ? undefined : all[0];
      }
      case "patch": {
        const id = this.any();
        const metaJson = `{"n":${++this.made}}`;
        const reason = await this.outcome(memory.patchMeta({ owner, id, patchJson: metaJson }));
        if (reason === undefined) this.held.set(id, metaJson);
        return reason;
      }
      case "forget": {
        const id = this.any();
        const reason = await this.outcome(memory.forget({ owner, id }));
        if (reason === undefined) this.held.delete(id);
        return reason;
      }
    }
  }

  /** What the service shows that it must not, and what it doesn't show that it must. */
  async differences(client: MemoryClient): Promise<string[]> {
    const wanted = new Map(this.held);
    const found: string[] = [];
    let pageToken = "";
    do {
      const page = await client.memory.listEntries({ owner: this.proto, pageToken, pageSize: 500 });
      for (const { id, metaJson } of page.entries) {
        const meta = wanted.get(id);
        if (meta === undefined) found.push(`${id} was not acknowledged, and is there`);
        else if (meta !== metaJson) found.push(`${id} has the meta ${metaJson}, not ${meta}`);
        wanted.delete(id);
      }
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    for (const id of wanted.keys()) found.push(`${id} was acknowledged, and is gone`);
    return found;
  }

  private async store(client: MemoryClient, kinds: readonly Kind[]): Promise<string | undefined> {
    const entries = kinds.map((kind) => ({ id: `e${++this.made}`, kind, text: `text ${this.made}` }));
    const request = { owner: this.proto, entries };
    const reason = await this.outcome(
      client.memory.rememberMany(
        (async function* () {
          yield request;
        })(),
      ),
    );
    if (reason === undefined) for (const { id } of entries) this.held.set(id, "");
    return reason;
  }

  private async outcome(call: Promise<unknown>): Promise<string | undefined> {
    try {
      await call;
      this.acknowledged++;
      return undefined;
    } catch (error) {
      this.refused++;
      return error instanceof ReverieError ? error.reason : String(error);
    }
  }

  private any(): string {
    const ids = [...this.held.keys()];
    return ids[this.made % ids.length] ?? "none";
  }
}
