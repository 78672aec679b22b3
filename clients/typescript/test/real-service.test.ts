import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MemoryClient, MemoryEntry, MemoryHandle, Owner } from "../src/index.js";
import { TrashRestoreConflictError } from "../src/index.js";
import { collect, failureOf } from "./support/harness.js";
import type { RealService } from "./support/real-server.js";
import { startReal } from "./support/real-server.js";

let service: RealService;
let client: MemoryClient;
beforeAll(async () => {
  service = await startReal();
  client = service.client();
});
afterAll(() => service.stop());

function fresh(): { owner: Owner; handle: MemoryHandle } {
  const owner: Owner = { kind: "agent", id: randomUUID() };
  return { owner, handle: client.handle(owner) };
}
const texts = (entries: readonly MemoryEntry[]) => entries.map((entry) => entry.text);

describe("the handle over memory-service", () => {
  test("remember, recall, list, patch, forget, clear", async () => {
    const { handle } = fresh();
    const before = Date.now();
    const first = await handle.remember({
      kind: "episodic",
      text: "Straße nach Köln",
      meta: { n: 1, deep: { a: [1] } },
    });
    expect(first).toEqual({
      id: expect.stringMatching(/^[0-9a-z]{8}-[a-z0-9]{6}$/),
      kind: "episodic",
      text: "Straße nach Köln",
      ts: expect.any(Number),
      meta: { n: 1, deep: { a: [1] } },
    });
    expect(first.ts).toBeGreaterThanOrEqual(before);
    const second = await handle.remember({ kind: "semantic", text: "blue", id: "mine" });
    expect("meta" in second).toBe(false);
    expect(texts(await handle.recall({ text: "STRASSE" }))).toEqual(["Straße nach Köln"]);
    expect(texts(await handle.recall())).toEqual(["blue", "Straße nach Köln"]);
    expect(texts(await handle.recall({ k: 1 }))).toEqual(["blue"]);
    expect(texts(await handle.recall({ kinds: ["episodic"], since: first.ts }))).toEqual(["Straße nach Köln"]);
    expect(await handle.recall({ since: Date.now() + 60_000 })).toEqual([]);
    expect(texts(await handle.list({ kind: "semantic" }))).toEqual(["blue"]);
    expect(await handle.patchMeta(first.id, { n: undefined, s: "x", deep: null })).toBe(true);
    expect((await handle.list({ kind: "episodic" }))[0]?.meta).toEqual({ s: "x", deep: null });
    expect(await handle.patchMeta("mine", { a: 1 })).toBe(true);
    expect(await handle.patchMeta("mine", { a: undefined })).toBe(true);
    expect("meta" in ((await handle.list({ kind: "semantic" }))[0] as MemoryEntry)).toBe(false);
    expect(await handle.patchMeta("unknown", { a: 1 })).toBe(false);
    await handle.forget("unknown");
    await handle.forget(first.id);
    expect(texts(await handle.list())).toEqual(["blue"]);
    await handle.remember({ kind: "working", text: "now" });
    await handle.clear("semantic");
    expect(texts(await handle.list())).toEqual(["now"]);
    await handle.clear();
    expect(await handle.list({ limit: 10_000 })).toEqual([]);
  });

  test("an owner that doesn't exist reads as empty", async () => {
    const { owner, handle } = fresh();
    expect(await handle.list()).toEqual([]);
    expect(await handle.recall({ text: "x" })).toEqual([]);
    expect(await client.get(owner, "x")).toBeUndefined();
    await handle.clear();
    await handle.forget("x");
  });

  test("the same memory twice is stored once; another one under its id is refused", async () => {
    const { owner, handle } = fresh();
    const entry = { kind: "working", text: "once", id: "a", meta: { b: 1, c: [2] } } as const;
    expect(await client.remember(owner, entry)).toMatchObject({ alreadyStored: false });
    expect(await client.remember(owner, entry)).toMatchObject({ alreadyStored: true, entry: { id: "a" } });
    expect(await handle.list()).toHaveLength(1);
    const error = await failureOf(handle.remember({ ...entry, text: "other" }));
    expect(error).toMatchObject({ code: "ALREADY_EXISTS", reason: "ENTRY_EXISTS", metadata: { id: "a" } });
    await handle.forget("a");
    expect(await failureOf(handle.remember(entry))).toMatchObject({ reason: "ENTRY_FORGOTTEN" });
  });

  test("list clamps to 500 and crosses pages that end because of their size", async () => {
    const { owner, handle } = fresh();
    const items = Array.from({ length: 620 }, (_, n) => ({
      kind: "episodic" as const,
      text: `${n} ${"x".repeat(12_000)}`,
      ts: 1_000 + n,
    }));
    expect(await client.rememberMany(owner, items)).toMatchObject({ stored: 620, received: 620, refused: [] });
    const page = await client.memory.listEntries({ owner: { kind: 1, id: owner.id }, pageSize: 500 });
    expect(page.entries.length).toBeLessThan(500);
    const listed = await handle.list({ limit: 10_000 });
    expect(listed.map((entry) => entry.ts)).toEqual(Array.from({ length: 500 }, (_, n) => 1_619 - n));
    expect(await handle.list()).toHaveLength(100);
    expect((await collect(client.entries(owner, { order: "oldest" }))).map((entry) => entry.ts)).toEqual(
      items.map((item) => item.ts),
    );
    expect(await handle.recall({ k: 10_000 })).toHaveLength(200);
    const stream = client.recallStream(owner, { text: "61" });
    const found = await collect(stream);
    expect(found[0]?.text.startsWith("619 ")).toBe(true);
    expect(stream.summary).toMatchObject({ returned: found.length, truncated: false });
  });

  test("many at once, all acknowledged, all there", async () => {
    const { handle } = fresh();
    const all = await Promise.all(
      Array.from({ length: 400 }, (_, n) => handle.remember({ kind: "episodic", text: `t${n}` })),
    );
    expect(new Set(all.map((entry) => entry.id)).size).toBe(400);
    expect(await handle.list({ limit: 500 })).toHaveLength(400);
  });

  test("text comes back as it went; half a character becomes U+FFFD", async () => {
    const { handle } = fresh();
    for (const text of ['\u0000\u2028\r\n\t"\\', "设计 e\u0301 👩‍👩‍👧", " "]) {
      expect((await handle.remember({ kind: "working", text })).text).toBe(text);
    }
    expect((await handle.remember({ kind: "working", text: "cut \ud83d" })).text).toBe("cut \ufffd");
    expect(await failureOf(handle.remember({ kind: "working", text: "" }))).toMatchObject({ reason: "TEXT_INVALID" });
    const long = await failureOf(handle.remember({ kind: "working", text: "x".repeat(1_048_577) }));
    expect(long).toMatchObject({ code: "INVALID_ARGUMENT", reason: "TEXT_INVALID", metadata: { limit: "1048576" } });
  });

  test("meta: __proto__ and numbers beyond a double", async () => {
    const { owner, handle } = fresh();
    const metaJson = '{"__proto__":{"p":1},"n":9007199254740993}';
    const to = { kind: 1, id: owner.id };
    await client.memory.remember({ owner: to, entry: { kind: 3, text: "t", id: "a", metaJson } });
    expect((await client.memory.getEntry({ owner: to, id: "a" })).entry?.metaJson).toBe(metaJson);
    const meta = (await handle.list())[0]?.meta;
    expect(Object.getPrototypeOf(meta)).toBe(Object.prototype);
    expect(Object.keys(meta ?? {})).toEqual(["__proto__", "n"]);
    await handle.patchMeta("a", JSON.parse('{"__proto__":2}') as Record<string, unknown>);
    expect((await client.memory.getEntry({ owner: to, id: "a" })).entry?.metaJson).toContain("9007199254740993");
    const deep = await failureOf(handle.remember({ kind: "working", text: "t", meta: nested(40) }));
    expect(deep).toMatchObject({ reason: "META_INVALID", metadata: { rule: "depth" } });
  });

  test("every violation at once, with the field's path", async () => {
    const error = await failureOf(client.memory.listEntries({ owner: { kind: 0, id: "" }, pageSize: -1 }));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", reason: "FIELD_INVALID" });
    expect(error.violations.map((violation) => violation.field).sort()).toEqual([
      "owner.id",
      "owner.kind",
      "page_size",
    ]);
  });
});

function nested(depth: number): Record<string, unknown> {
  return depth === 0 ? {} : { a: nested(depth - 1) };
}

describe("owners", () => {
  test("attach, and what a config refuses", async () => {
    const { owner, handle } = fresh();
    const config = { scope: "private", allowedKinds: ["semantic"] } as const;
    expect(await client.attach(owner, config)).toEqual({ changed: true });
    expect(await client.attach(owner, config)).toEqual({ changed: false });
    expect((await failureOf(client.attach(owner, {}))).reason).toBe("CONFIG_EXISTS");
    const error = await failureOf(handle.remember({ kind: "working", text: "t" }));
    expect(error).toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "KIND_NOT_ALLOWED",
      metadata: { kind: "working" },
    });
    expect(await client.attach(owner, {}, { replace: true })).toEqual({ changed: true });
    await handle.remember({ kind: "working", text: "t" });
    expect((await client.info.getServerInfo({})).service).toBe("reverie-memory");
  });

  test("the trash: there and back, with the files of the hub", async () => {
    const { owner, handle } = fresh();
    await handle.remember({ kind: "working", text: "kept" });
    await writeFile(join(service.dataDir, "agent", owner.id, "notes.txt"), "mine");
    const ref = await client.hubTrash.softDelete(owner, "tidy");
    expect(ref).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      type: "memory",
      impl: "file",
      ownerKind: "agent",
      ownerId: owner.id,
      deletedAt: expect.any(Number),
      expiresAt: ref.deletedAt + 30 * 86_400_000,
      reason: "tidy",
    });
    expect(await handle.list()).toEqual([]);
    expect(await client.hubTrash.list(owner)).toEqual([ref]);
    expect((await client.hubTrash.list()).some((other) => other.id === ref.id)).toBe(true);
    await handle.remember({ kind: "working", text: "new life" });
    const conflict = await client.hubTrash.restore(ref).catch((error: unknown) => error);
    expect(conflict).toBeInstanceOf(TrashRestoreConflictError);
    await handle.clear();
    await client.hubTrash.restore(ref);
    expect(texts(await handle.list())).toEqual(["kept"]);
    expect((await failureOf(client.hubTrash.restore(ref))).reason).toBe("TRASH_NOT_FOUND");
    const again = await client.hubTrash.softDelete(owner);
    expect("reason" in again).toBe(false);
    await client.hubTrash.hardDelete(again);
    expect((await failureOf(client.hubTrash.hardDelete(again))).reason).toBe("TRASH_NOT_FOUND");
    expect((await client.hubTrash.softDelete(fresh().owner)).id).toMatch(/^[0-9a-f]{16}$/);
  });

  test("an existing directory, as hubs have them", async () => {
    const dir = join(service.dataDir, "shared", "legacy");
    await mkdir(dir, { recursive: true });
    const line = { id: "old-1", kind: "semantic", text: "from before", ts: 5, meta: { a: 1 } };
    await writeFile(join(dir, "semantic.jsonl"), `${JSON.stringify(line)}\n`);
    expect(await client.handle("shared/legacy").list()).toEqual([line]);
  });
});

describe("streams over memory-service", () => {
  test("export and import make a copy", async () => {
    const { owner, handle } = fresh();
    for (let n = 0; n < 50; n++) await handle.remember({ kind: "semantic", text: `fact ${n}`, meta: { n } });
    const copy = fresh();
    const exported = client.exportOwner(owner);
    expect(await client.importOwner(copy.owner, exported)).toMatchObject({ stored: 50, refused: 0 });
    expect(exported.summary).toMatchObject({ entries: 50, corruptLinesSkipped: 0 });
    expect(await copy.handle.list()).toEqual(await handle.list());
    expect(await client.importOwner(copy.owner, client.exportOwner(owner))).toMatchObject({
      stored: 0,
      alreadyStored: 50,
    });
  });

  test("rememberMany counts repeats and names refusals; stops after 1,000", async () => {
    const { owner } = fresh();
    const a = { kind: "working" as const, text: "a", id: "a" };
    const result = await client.rememberMany(owner, [a, a, { ...a, text: "b" }, { ...a, id: "c", text: "" }]);
    expect(result).toMatchObject({ stored: 1, alreadyStored: 1, received: 4, stopped: false });
    expect(result.refused.map(({ index, id, reason }) => [index, id, reason])).toEqual([
      [2, "a", "ENTRY_EXISTS"],
      [3, "c", "TEXT_INVALID"],
    ]);
    function* endless() {
      for (;;) yield { kind: "working" as const, text: "" };
    }
    expect(await client.rememberMany(owner, endless())).toMatchObject({ stored: 0, stopped: true });
  });

  test("watch: changes, deletions, and an expired cursor", async () => {
    const { owner, handle } = fresh();
    const kept = await handle.remember({ kind: "working", text: "first", id: "a" });
    const updates = client.watch(owner, { afterSeq: 0 });
    const seen: string[] = [];
    const until = async (event: string) => {
      while (!seen.includes(event)) {
        const { value } = await updates.next();
        for (const change of value?.changes ?? []) {
          seen.push(change.type === "upserted" ? `+${change.entry.id}` : `-${change.id}`);
        }
      }
    };
    await until("+a");
    await handle.remember({ kind: "semantic", text: "second", id: "b" });
    await until("+b");
    await handle.forget(kept.id);
    await until("-a");
    await updates.return();
    expect(seen).toEqual(["+a", "+b", "-a"]);
    await handle.clear();
    const expired = client.watch(owner, { afterSeq: 1 });
    expect(await failureOf(expired.next())).toMatchObject({
      code: "OUT_OF_RANGE",
      reason: "WATCH_CURSOR_EXPIRED",
      metadata: { floor: expect.stringMatching(/^[0-9]+$/) },
    });
  });
});

test("130 watches hold up no other call, and close with the client", async () => {
  const one = service.client();
  const { owner } = fresh();
  const watches = Array.from({ length: 130 }, () => one.watch(owner, { afterSeq: 0 }));
  await Promise.all(watches.map((updates) => updates.next()));
  const pending = watches.map((updates) => updates.next());
  await one.remember(owner, { kind: "working", text: "t" }, { timeoutMs: 3_000 });
  for (const { value } of await Promise.all(pending)) expect(value?.changes).toHaveLength(1);
  const ended = watches.map((updates) => failureOf(updates.next()));
  one.close();
  for (const error of await Promise.all(ended)) expect(error.reason).toBe("CLIENT_CLOSED");
  expect((await failureOf(one.watch(owner).next())).reason).toBe("CLIENT_CLOSED");
});

/** Writes without a pause while the service restarts twice, the second time away for 0.7 s. Returns what was acknowledged. */
async function writeOverRestarts(mine: RealService, one: MemoryClient, writers: number): Promise<string[]> {
  const handle = one.handle("agent/x");
  const acknowledged: string[] = [];
  let running = true;
  const writing = Array.from({ length: writers }, async () => {
    while (running) acknowledged.push((await handle.remember({ kind: "episodic", text: randomUUID() })).text);
  });
  for (const pauseMs of [0, 700]) {
    await new Promise((resolve) => setTimeout(resolve, 150));
    await mine.restart(pauseMs);
  }
  await new Promise((resolve) => setTimeout(resolve, 150));
  running = false;
  await Promise.all(writing);
  return acknowledged;
}

describe("a service that restarts", () => {
  test("what was under way is stored once each, and nothing acknowledged is missing", async () => {
    const mine = await startReal();
    try {
      const one = mine.client({ retry: { maxAttempts: 20 } });
      const acknowledged = await writeOverRestarts(mine, one, 8);
      const stored = texts(await collect(one.entries("agent/x")));
      expect(new Set(stored).size).toBe(stored.length);
      expect(new Set(stored)).toEqual(new Set(acknowledged));
    } finally {
      await mine.stop();
    }
  });

  test.each([1, 8])("a watch sees every change of %i writers", async (writers) => {
    const mine = await startReal();
    try {
      const one = mine.client({ retry: { maxAttempts: 20 } });
      const updates = one.watch("agent/x", { afterSeq: 0 });
      const followed = new Set<string>();
      const follower = (async () => {
        for await (const { changes } of updates) {
          for (const change of changes) if (change.type === "upserted") followed.add(change.entry.text);
          if (followed.has("last")) return;
        }
      })();
      const acknowledged = await writeOverRestarts(mine, one, writers);
      await one.handle("agent/x").remember({ kind: "episodic", text: "last" });
      await follower;
      expect(acknowledged.filter((text) => !followed.has(text))).toEqual([]);
    } finally {
      await mine.stop();
    }
  });

  test("tokens", async () => {
    const mine = await startReal("hub:0123456789abcdef\n");
    try {
      const nobody = await failureOf(mine.client().handle("agent/x").list());
      expect(nobody).toMatchObject({ code: "UNAUTHENTICATED", reason: "UNAUTHENTICATED" });
      const wrong = await failureOf(mine.client({ token: "fedcba9876543210" }).handle("agent/x").recall());
      expect(wrong.code).toBe("UNAUTHENTICATED");
      expect(await mine.client({ token: "0123456789abcdef" }).handle("agent/x").list()).toEqual([]);
      expect((await mine.client().info.getServerInfo({})).apiPackages).toContain("reverie.memory.v1");
    } finally {
      await mine.stop();
    }
  });
});
