import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { EntrySchema } from "@reverie/proto/memory";
import { Kind, RecallResponseSchema } from "@reverie/proto/memory";
import { afterEach } from "vitest";
import type { MemoryClient, MemoryClientOptions } from "../../src/index.js";
import { createMemoryClient, ReverieError } from "../../src/index.js";
import type { FakeServer, Handlers } from "./fake-server.js";
import { startFake } from "./fake-server.js";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** Runs after the test. */
export function later(cleanup: () => void): void {
  cleanups.push(cleanup);
}

/** A client of a fake server; both end with the test. Retries wait 5 to 10 ms. */
export async function connect(
  handlers: Handlers,
  options: Partial<MemoryClientOptions> = {},
): Promise<{ client: MemoryClient; server: FakeServer }> {
  const server = await startFake(handlers);
  const client = createMemoryClient({
    address: server.address,
    retry: { initialBackoffMs: 10, maxBackoffMs: 10 },
    ...options,
  });
  later(() => client.close());
  later(() => server.stop());
  return { client, server };
}

/** The ReverieError that it fails with; anything else fails the test. */
export async function failureOf(run: Promise<unknown> | (() => unknown)): Promise<ReverieError> {
  try {
    await (typeof run === "function" ? run() : run);
  } catch (error) {
    if (error instanceof ReverieError) return error;
    throw error;
  }
  throw new Error("did not fail");
}

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}

export const entry = (id: string, more: MessageInitShape<typeof EntrySchema> = {}) => ({
  id,
  kind: Kind.EPISODIC,
  text: `text of ${id}`,
  tsMs: 1_000n,
  ...more,
});

export const batch = (...entries: ReturnType<typeof entry>[]) =>
  create(RecallResponseSchema, { event: { case: "batch", value: { entries } } });

export const summary = (returned: number) =>
  create(RecallResponseSchema, { event: { case: "summary", value: { returned: BigInt(returned), seq: 9n } } });
