import { createMemoryClient, type MemoryClient } from "@reverie/client";
import type { ServiceProcess } from "../../e2e/support/service-process.js";

const OWNER = "agent/x";

/** A service that has its data directory, and what it acknowledged. */
export class Holder {
  private readonly client: MemoryClient;
  private count = 0;
  private writing: Promise<void> | undefined;
  private stopping = false;

  constructor(
    readonly service: ServiceProcess,
    private readonly acknowledged: Set<string>,
  ) {
    this.client = createMemoryClient({ address: service.grpc, retry: { maxAttempts: 1 } });
  }

  get pid(): number {
    return this.service.child.pid ?? 0;
  }

  async remember(): Promise<void> {
    const id = `${this.pid}-${this.count++}`;
    await this.client.remember(OWNER, { kind: "episodic", id, text: `text of ${id}` });
    this.acknowledged.add(id);
  }

  /** Writes until `stopWriting`, which throws what went wrong. */
  startWriting(): void {
    this.stopping = false;
    const write = async (): Promise<void> => {
      while (!this.stopping) await this.remember();
    };
    this.writing = write();
    this.writing.catch(() => {});
  }

  async stopWriting(): Promise<void> {
    this.stopping = true;
    await this.writing;
  }

  /** Acknowledged, and not there or altered. */
  async lost(): Promise<string[]> {
    const texts = new Map<string, string>();
    for await (const { id, text } of this.client.entries(OWNER)) texts.set(id, text);
    return [...this.acknowledged].filter((id) => texts.get(id) !== `text of ${id}`);
  }

  close(): void {
    this.client.close();
  }
}
