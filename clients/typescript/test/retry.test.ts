import { status } from "@grpc/grpc-js";
import type { RememberManyRequest, RememberRequest } from "@reverie/proto/memory";
import { Kind, MemoryService, OwnerService, TrashService } from "@reverie/proto/memory";
import { describe, expect, test } from "vitest";
import { createMemoryClient, retrySafety } from "../src/index.js";
import { backoffMs } from "../src/retry.js";
import { failure, startFake, unavailable } from "./support/fake-server.js";
import { batch, collect, connect, entry, failureOf, later, summary } from "./support/harness.js";

type Reply = (error: unknown, message?: unknown) => void;
const owner = "agent/x";

/** Fails `times` times, then answers. */
function flaky(times: number, error: () => unknown, answer: unknown = {}) {
  const seen: unknown[] = [];
  const handler = (call: { request: unknown }, reply: Reply) => {
    seen.push(call.request);
    if (seen.length <= times) reply(error());
    else reply(null, answer);
  };
  return { seen, handler };
}

describe("what is sent again after UNAVAILABLE", () => {
  test("Remember, with the same id each time", async () => {
    const { seen, handler } = flaky(3, unavailable, { entry: entry("x") });
    const { client } = await connect({ remember: handler });
    await client.handle(owner).remember({ kind: "episodic", text: "t", meta: { a: 1 } });
    const ids = seen.map((request) => (request as RememberRequest).entry?.id);
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(/^[0-9a-z]{8,}-[a-z0-9]{6}$/);
  });

  test("a raw Remember without an id is not", async () => {
    const { seen, handler } = flaky(1, unavailable, { entry: entry("x") });
    const { client } = await connect({ remember: handler });
    const error = await failureOf(client.memory.remember({ entry: { kind: Kind.WORKING, text: "t" } }));
    expect(error).toMatchObject({ code: "UNAVAILABLE", reason: "LOG_STOPPED", retryable: true });
    expect(seen).toHaveLength(1);
  });

  test("... unless the service surely refused it", async () => {
    const { seen, handler } = flaky(1, () => unavailable("DRAINING"), { entry: entry("x") });
    const { client } = await connect({ remember: handler });
    await client.memory.remember({ entry: { kind: Kind.WORKING, text: "t" } });
    expect(seen).toHaveLength(2);
  });

  test("Clear only when it surely did nothing", async () => {
    const stopped = flaky(1, unavailable);
    const { client } = await connect({ clear: stopped.handler });
    expect((await failureOf(client.handle(owner).clear())).reason).toBe("LOG_STOPPED");
    expect(stopped.seen).toHaveLength(1);
    const draining = flaky(2, () => unavailable("DRAINING"));
    const other = await connect({ clear: draining.handler });
    await other.client.handle(owner).clear();
    expect(draining.seen).toHaveLength(3);
  });

  test("reads, Forget and PatchMeta are", async () => {
    const forget = flaky(2, unavailable);
    const patchMeta = flaky(2, unavailable, { found: true });
    const listEntries = flaky(2, unavailable);
    const { client } = await connect({
      forget: forget.handler,
      patchMeta: patchMeta.handler,
      listEntries: listEntries.handler,
    });
    const handle = client.handle(owner);
    await handle.forget("a");
    expect(await handle.patchMeta("a", { b: 1 })).toBe(true);
    expect(await handle.list()).toEqual([]);
    expect([forget.seen.length, patchMeta.seen.length, listEntries.seen.length]).toEqual([3, 3, 3]);
  });

  test("other statuses are not", async () => {
    for (const code of [status.ABORTED, status.INTERNAL, status.RESOURCE_EXHAUSTED, status.DEADLINE_EXCEEDED]) {
      const { seen, handler } = flaky(1, () => failure(code, "no"));
      const { client } = await connect({ forget: handler });
      await failureOf(client.handle(owner).forget("a"));
      expect(seen).toHaveLength(1);
    }
  });

  test("a dropped connection", async () => {
    let calls = 0;
    const server = await startFake({
      remember: () => {
        calls++;
        server.stop();
      },
    });
    const client = createMemoryClient({ address: server.address });
    later(() => client.close());
    const running = client.handle(owner).remember({ kind: "working", text: "t", id: "same" });
    await expect.poll(() => calls).toBe(1);
    const remember = (call: { request: RememberRequest }, reply: Reply) =>
      reply(null, { entry: { ...entry(call.request.entry?.id ?? ""), kind: Kind.WORKING } });
    const again = await startFake({ remember }, { port: server.port });
    later(() => again.stop());
    expect((await running).id).toBe("same");
  });

  test("a dropped connection while clearing is reported", async () => {
    const server = await startFake({ clear: () => server.stop() });
    const client = createMemoryClient({ address: server.address });
    later(() => client.close());
    const error = await failureOf(client.handle(owner).clear());
    expect(error).toMatchObject({ code: "UNAVAILABLE", reason: "CONNECTION_LOST" });
  });

  test("every method of the contract was thought of", () => {
    const methods = [MemoryService, OwnerService, TrashService].flatMap((service) => service.methods);
    expect(Object.fromEntries(methods.map((method) => [method.name, retrySafety(method)]))).toEqual({
      Remember: "always",
      RememberMany: "never",
      Recall: "always",
      GetEntry: "always",
      ListEntries: "always",
      Forget: "always",
      Clear: "unsent",
      PatchMeta: "always",
      Watch: "always",
      ExportOwner: "always",
      ImportOwner: "never",
      Attach: "always",
      Detach: "always",
      Describe: "always",
      ListOwners: "always",
      SoftDelete: "unsent",
      ListTrash: "always",
      Restore: "unsent",
      HardDelete: "unsent",
      SweepTrash: "always",
    });
  });
});

describe("how long", () => {
  test("at most maxAttempts", async () => {
    const { seen, handler } = flaky(99, unavailable);
    const { client } = await connect({ forget: handler }, { retry: { maxAttempts: 3, initialBackoffMs: 1 } });
    await failureOf(client.handle(owner).forget("a"));
    expect(seen).toHaveLength(3);
  });

  test("RetryInfo is waited for", async () => {
    const { seen, handler } = flaky(1, () => unavailable("LOG_STOPPED", 250));
    const { client } = await connect({ forget: handler });
    const start = Date.now();
    await client.handle(owner).forget("a");
    expect(Date.now() - start).toBeGreaterThanOrEqual(245);
    expect(seen).toHaveLength(2);
  });

  test("a wait beyond the deadline is not begun", async () => {
    const { seen, handler } = flaky(1, () => unavailable("LOG_STOPPED", 60_000));
    const { client } = await connect({ forget: handler });
    const start = Date.now();
    expect(await failureOf(client.handle(owner).forget("a"))).toMatchObject({ retryAfterMs: 60_000 });
    expect(Date.now() - start).toBeLessThan(1_000);
    expect(seen).toHaveLength(1);
  });

  test("the deadline covers all attempts", async () => {
    let calls = 0;
    const forget = (_call: unknown, reply: Reply) => {
      if (++calls === 1) reply(unavailable());
    };
    const { client } = await connect({ forget }, { timeoutMs: 300 });
    const start = Date.now();
    const error = await failureOf(client.handle(owner).forget("a"));
    expect(error.code).toBe("DEADLINE_EXCEEDED");
    expect(error.message).toContain("300 ms");
    expect(Date.now() - start).toBeLessThan(600);
    expect(calls).toBe(2);
  });

  test("cancel ends the waiting", async () => {
    const { handler } = flaky(1, () => unavailable("LOG_STOPPED", 5_000));
    const { client } = await connect({ forget: handler });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    const start = Date.now();
    const error = await failureOf(client.memory.forget({ id: "a" }, { signal: controller.signal }));
    expect(error.code).toBe("CANCELLED");
    expect(Date.now() - start).toBeLessThan(1_000);
  });

  test("doubling, jittered, capped", () => {
    for (let attempt = 1; attempt < 40; attempt++) {
      const full = Math.min(2_000, 100 * 2 ** (attempt - 1));
      const wait = backoffMs(attempt, {});
      expect(wait).toBeGreaterThanOrEqual(full / 2);
      expect(wait).toBeLessThanOrEqual(full);
    }
    expect(backoffMs(1, {}, 5_000)).toBe(5_000);
  });
});

describe("streams", () => {
  test("are tried again until their first message", async () => {
    let calls = 0;
    const recall = (call: { write(m: unknown): void; end(): void; emit(e: string, v: unknown): void }) => {
      if (++calls < 3) call.emit("error", unavailable());
      else {
        call.write(batch(entry("a")));
        call.write(summary(1));
        call.end();
      }
    };
    const { client } = await connect({ recall });
    expect((await collect(client.recallStream(owner))).map((e) => e.id)).toEqual(["a"]);
    expect(calls).toBe(3);
  });

  test("are not after it, but a whole recall is, once", async () => {
    let calls = 0;
    const recall = (call: { write(m: unknown): void; end(): void; emit(e: string, v: unknown): void }) => {
      call.write(batch(entry(`e${++calls}`)));
      if (calls !== 3) setTimeout(() => call.emit("error", unavailable()), 30);
      else {
        call.write(summary(1));
        call.end();
      }
    };
    const { client } = await connect({ recall });
    expect((await failureOf(collect(client.recallStream(owner)))).reason).toBe("LOG_STOPPED");
    expect(calls).toBe(1);
    expect((await client.handle(owner).recall()).map((e) => e.id)).toEqual(["e3"]);
    expect(calls).toBe(3);
  });

  test("RememberMany of an array is, with the same ids; of a generator it is not", async () => {
    const ids: string[][] = [];
    const rememberMany = async (call: AsyncIterable<RememberManyRequest>, reply: Reply) => {
      const mine: string[] = [];
      ids.push(mine);
      for await (const request of call) mine.push(...request.entries.map((e) => e.id));
      if (ids.length % 2 === 1) reply(unavailable());
      else reply(null, { received: BigInt(mine.length) });
    };
    const { client } = await connect({ rememberMany });
    const items = Array.from({ length: 300 }, (_, n) => ({ kind: "semantic" as const, text: `${n} `.repeat(200) }));
    expect((await client.rememberMany(owner, items)).received).toBe(300);
    expect(ids).toHaveLength(2);
    expect(ids[1]).toEqual(ids[0]);
    expect(new Set(ids[0]).size).toBe(300);
    const error = await failureOf(client.rememberMany(owner, items.values()));
    expect(error.code).toBe("UNAVAILABLE");
    expect(ids).toHaveLength(3);
  });
});
