import { createMemoryClient, type MemoryClient, type Owner, ReverieError, toProtoOwner } from "@reverie/client";
import type { ServiceProcess } from "../../e2e/support/service-process.js";

/** The most that any of these disks has room for. */
const MOST = 500;

/** A client that remembers until there is no room, and knows what it was promised. What is wrong it notes in `wrong`. */
export class Hoarder {
  readonly wrong: string[] = [];
  acknowledged = 0;
  refused = 0;
  private client: MemoryClient;
  private readonly held = new Map<string, { owner: Owner; ids: Set<string> }>();
  private count = 0;

  constructor(
    service: ServiceProcess,
    private readonly text: string,
  ) {
    this.client = connect(service);
  }

  /** Goes on with a service that was started anew. */
  moveTo(service: ServiceProcess): void {
    this.client.close();
    this.client = connect(service);
  }

  close(): void {
    this.client.close();
  }

  /** undefined when it was acknowledged, else the refusal's reason. */
  async remember(owner: Owner): Promise<string | undefined> {
    const id = `n-${this.count++}`;
    try {
      await this.client.remember(owner, { kind: "episodic", id, text: this.text });
      this.idsOf(owner).add(id);
      this.acknowledged++;
      return undefined;
    } catch (error) {
      this.refused++;
      return reasonOf(error);
    }
  }

  /** Remembers until it is refused, as must be. Returns how many were stored. */
  async fill(owner: Owner, expected = "RESOURCE_EXHAUSTED DISK_FULL"): Promise<number> {
    for (let stored = 0; stored < MOST; stored++) {
      const reason = await this.remember(owner);
      if (reason === undefined) continue;
      if (reason !== expected) this.wrong.push(`refused with ${reason}, not ${expected}`);
      return stored;
    }
    this.wrong.push(`${MOST} writes found room`);
    return MOST;
  }

  /** True when it found room. */
  async findsRoom(owner: Owner, withinMs: number): Promise<boolean> {
    for (const until = performance.now() + withinMs; performance.now() < until; )
      if ((await this.remember(owner)) === undefined) return true;
    return false;
  }

  /** Forgets so many of the oldest. */
  async forget(owner: Owner, count: number): Promise<void> {
    for (const id of [...this.idsOf(owner)].slice(0, count)) {
      await this.does(`forgetting ${id}`, async () => {
        const { found } = await this.client.memory.forget({ owner: toProtoOwner(owner), id });
        if (!found) this.wrong.push(`${id} was not there to be forgotten`);
        this.idsOf(owner).delete(id);
      });
    }
  }

  async clear(owner: Owner): Promise<void> {
    await this.does("clearing", async () => {
      await this.client.memory.clear({ owner: toProtoOwner(owner), all: true });
      this.idsOf(owner).clear();
    });
  }

  /** Gives what `hardDelete` takes. */
  async softDelete(owner: Owner): Promise<string> {
    const { ref } = await this.client.trash.softDelete({ owner: toProtoOwner(owner) });
    this.idsOf(owner).clear();
    return ref!.refId;
  }

  async hardDelete(owner: Owner, refId: string): Promise<void> {
    await this.does("hard delete", async () => {
      await this.client.trash.hardDelete({ owner: toProtoOwner(owner), refId });
      for await (const { refs } of this.client.trash.listTrash({ owner: toProtoOwner(owner) }))
        if (refs.length > 0) this.wrong.push("the trash still has what was deleted for good");
    });
  }

  /** Every owner holds exactly what was acknowledged, and as it was sent. */
  async compare(when: string): Promise<void> {
    for (const { owner, ids } of this.held.values()) {
      const seen = new Set<string>();
      for await (const { id, text } of this.client.entries(owner, { order: "oldest" })) {
        seen.add(id);
        if (text !== this.text) this.wrong.push(`${when}: ${id} was altered`);
        if (!ids.has(id)) this.wrong.push(`${when}: ${id} is there, and was not acknowledged`);
      }
      for (const id of ids) if (!seen.has(id)) this.wrong.push(`${when}: ${id} is lost`);
    }
  }

  private idsOf(owner: Owner): Set<string> {
    const key = `${owner.kind}/${owner.id}`;
    const held = this.held.get(key) ?? { owner, ids: new Set<string>() };
    this.held.set(key, held);
    return held.ids;
  }

  private async does(what: string, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.wrong.push(`${what} failed: ${reasonOf(error)}`);
    }
  }
}

function connect(service: ServiceProcess): MemoryClient {
  return createMemoryClient({ address: service.grpc, retry: { maxAttempts: 1 } });
}

function reasonOf(error: unknown): string {
  return error instanceof ReverieError ? `${error.code} ${error.reason}` : String(error);
}
