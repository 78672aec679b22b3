import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { toProtoOwner } from "@reverie/client";
import {
  type ExportOwnerResponse,
  MemoryService,
  type RecallResponse,
  type WatchResponse,
} from "@reverie/proto/memory";
import { expect, test } from "vitest";
import { clientOf, linesOf, startService, temporaryDirectory } from "./support/service.js";

const stalled = { kind: "agent", id: "stalled" } as const;
const busy = { kind: "agent", id: "busy" } as const;
const STREAMS = 100;

type Answer = RecallResponse | WatchResponse | ExportOwnerResponse;

test("SIGTERM with 100 open streams and writes in flight: exit 0 within 10 s, every acknowledged write on disk", async () => {
  const dataDir = join(temporaryDirectory(), "data");
  const service = await startService({ dataDir, http: true });
  const client = clientOf(service, { retry: { maxAttempts: 1 } });
  // More than the buffers between a service and a reader that stopped reading.
  const large = Array.from({ length: 200 }, (_, i) => ({
    kind: "episodic" as const,
    id: `large-${i}`,
    text: "x".repeat(60_000),
  }));
  await client.rememberMany(stalled, large);

  const overGrpc = [0, 1].map(() => clientOf(service).memory);
  const h2c = createConnectTransport({ baseUrl: `http://${service.http}`, httpVersion: "2" });
  const stubs = [...overGrpc, createClient(MemoryService, h2c), createClient(MemoryService, h2c)];
  const owner = toProtoOwner(stalled);
  const streams = Array.from({ length: STREAMS }, (_, i) => {
    const stub = stubs[i % stubs.length];
    const way = Math.floor(i / stubs.length) % 3;
    const stream =
      way === 0
        ? stub.watch({ owner, afterSeq: 0n })
        : way === 1
          ? stub.recall({ owner, k: 200 })
          : stub.exportOwner({ owner });
    return stream[Symbol.asyncIterator]() as AsyncIterator<Answer>;
  });
  // Each is open, and from here on reads nothing.
  for (const first of await Promise.all(streams.map((stream) => stream.next()))) expect(first.done).toBe(false);

  const acknowledged: string[] = [];
  let refused = 0;
  let stopping = false;
  const writers = Array.from({ length: 16 }, async (_, writer) => {
    for (let i = 0; !stopping || i === 0; i++) {
      const id = `w${writer}-${i}`;
      const done = await client.remember(busy, { kind: "semantic", id, text: `text of ${id}` }).then(
        () => true,
        () => false,
      );
      if (!done) {
        refused++;
        return;
      }
      acknowledged.push(id);
    }
  });
  await expect.poll(() => acknowledged.length, { timeout: 10_000 }).toBeGreaterThan(300);

  const started = performance.now();
  const exit = await service.end("SIGTERM");
  const tookMs = performance.now() - started;
  stopping = true;
  await Promise.all(writers);
  console.log(
    `SIGTERM: exit ${exit.code} after ${tookMs.toFixed(0)} ms, ${STREAMS} streams, ${acknowledged.length} acknowledged, ${refused} refused`,
  );

  expect(exit, exit.output).toMatchObject({ code: 0, signal: null });
  expect(tookMs).toBeLessThan(10_000);
  expect(refused).toBe(16);
  const onDisk = new Map(linesOf(dataDir, busy).map((line) => [line.id, line.text]));
  expect(acknowledged.filter((id) => onDisk.get(id) !== `text of ${id}`)).toEqual([]);
  // Who didn't get everything is told so.
  const ends = await Promise.allSettled(streams.map(lastEvent));
  const quiet = ends.flatMap((end, i) =>
    end.status === "fulfilled" && end.value !== "summary" ? [`stream ${i}: ${end.value}`] : [],
  );
  expect(quiet).toEqual([]);
  expect(ends.filter(({ status }) => status === "rejected").length).toBeGreaterThan(STREAMS / 2);
});

/** The kind of a stream's last message. */
async function lastEvent(stream: AsyncIterator<Answer>): Promise<string | undefined> {
  let last: string | undefined;
  for (;;) {
    const next = await stream.next();
    if (next.done) return last;
    last = next.value.event.case;
  }
}
