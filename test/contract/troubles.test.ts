import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { type Fs, realFs } from "../../memory-service/src/store/jsonl/fs.js";
import { openJsonlStore } from "../../memory-service/src/store/jsonl/jsonl-store.js";
import { Api, collect, contract, newEntry, stream } from "./support/contract.js";
import { startContractServer } from "./support/contract-server.js";
import { caught, failureOf, failuresOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";
import { transports } from "./support/transports.js";
import { watch } from "./support/watcher.js";

const DAY_MS = 86_400_000;

// The disk's next call of this name fails with this code.
let trouble: { call: "write" | "fdatasync" | "open"; code: string } | undefined;

function failing<K extends "write" | "fdatasync" | "open">(call: K): Fs[K] {
  return ((...args: never[]) => {
    if (trouble?.call === call) return Promise.reject(Object.assign(new Error("injected"), { code: trouble.code }));
    return (realFs[call] as (...args: never[]) => unknown)(...args);
  }) as Fs[K];
}

async function during<T>(wanted: NonNullable<typeof trouble>, run: () => Promise<T>): Promise<T> {
  trouble = wanted;
  try {
    return await run();
  } finally {
    trouble = undefined;
  }
}

contract(
  "A disk in trouble",
  (api) => {
    it("that fails to sync stops the owner's log, and says when to try again", async () => {
      const owner = api.owner();
      await api.remember(owner, { id: "a" });
      const entry = newEntry({ id: "b" });
      const failures = await during({ call: "fdatasync", code: "EIO" }, async () => [
        await failureOf(api.memory.remember({ owner, entry })),
        await failureOf(api.memory.rememberMany(stream({ owner, entries: [entry] }))),
      ]);
      for (const failure of failures) {
        expect(failure).toMatchObject({ code: Code.Unavailable, reason: "LOG_STOPPED" });
        expect(failure.retryMs).toBeGreaterThan(0);
      }
      expect((await recall(api, owner)).entries.map(({ id }) => id)).toEqual(["a"]);
      expect((await api.owners.describe({ owner })).writable).toBe(false);
      await expect
        .poll(
          () =>
            api.memory.remember({ owner, entry }).then(
              () => true,
              () => false,
            ),
          { timeout: 8_000 },
        )
        .toBe(true);
      expect((await recall(api, owner)).entries.map(({ id }) => id)).toEqual(["b", "a"]);
      expect((await api.owners.describe({ owner })).writable).toBe(true);
    });

    it.each([
      ["is full", "write", "ENOSPC", Code.ResourceExhausted, "DISK_FULL"],
      ["is over its quota", "write", "EDQUOT", Code.ResourceExhausted, "DISK_FULL"],
      ["has no descriptor left", "open", "EMFILE", Code.Unavailable, "OVERLOADED"],
    ] as const)("that %s stores nothing, and goes on after", async (_, call, code, status, reason) => {
      const owner = api.owner();
      if (call === "write") await api.remember(owner, { id: "a" });
      const failure = await during({ call, code }, () => failureOf(api.remember(owner, { id: "b" })));
      expect(failure).toMatchObject({ code: status, reason });
      expect(failure.retryMs).toBeGreaterThan(0);
      expect(await api.memory.remember({ owner, entry: newEntry({ id: "b" }) })).toMatchObject({
        alreadyStored: false,
      });
    });
  },
  {
    overrides: { fs: { ...realFs, write: failing("write"), fdatasync: failing("fdatasync"), open: failing("open") } },
  },
);

contract(
  "A bug",
  (api) => {
    it("shows an id to find it by, and nothing else", async () => {
      const owner = api.owner();
      const calls = [api.memory.getEntry({ owner, id: "a" }), api.memory.recall({ owner })];
      for (const failure of await failuresOf(calls)) {
        expect(failure).toMatchObject({ code: Code.Internal, reason: "INTERNAL" });
        expect(failure.metadata.error_id).toMatch(/^[0-9a-f]{8,}$/);
        expect(JSON.stringify(failure)).not.toContain("secret");
      }
    });
  },
  {
    async store(root) {
      const store = await openJsonlStore({ root });
      const fail = (): never => {
        throw new TypeError("secret is not a function at /home/secret");
      };
      return Object.assign(store, { get: async () => fail(), recall: fail });
    },
  },
);

let now = Date.UTC(2026, 0, 2, 3);

contract(
  "Time",
  (api) => {
    it("lets a forgotten entry be stored again after 24 hours", async () => {
      const owner = api.owner();
      for (const erase of [() => api.memory.forget({ owner, id: "a" }), () => api.memory.clear({ owner, all: true })]) {
        await api.remember(owner, { id: "a" });
        await erase();
        now += DAY_MS - 60_000;
        expect(await failureOf(api.remember(owner, { id: "a" }))).toMatchObject({ reason: "ENTRY_FORGOTTEN" });
        now += 120_000;
        expect(await api.memory.remember({ owner, entry: newEntry({ id: "a" }) })).toMatchObject({
          alreadyStored: false,
        });
        await api.memory.forget({ owner, id: "a" });
        now += 2 * DAY_MS;
      }
    });

    it("lets the sweep take what has been in the trash for 30 days", async () => {
      await api.trash.sweepTrash({});
      const owner = api.owner();
      await api.remember(owner, { text: "x".repeat(5_000) });
      const { ref } = await api.trash.softDelete({ owner });
      expect(Number(ref?.deletedAtMs)).toBe(now);
      now += 30 * DAY_MS - 1;
      expect(await api.trash.sweepTrash({ dryRun: true })).toMatchObject({ deleted: 0n, freedBytes: 0n });
      now += 1;
      const rehearsal = await api.trash.sweepTrash({ dryRun: true });
      expect(rehearsal.deleted).toBe(1n);
      expect(rehearsal.freedBytes).toBeGreaterThan(5_000n);
      expect(await collect(api.trash.listTrash({ owner }))).toMatchObject([{ refs: [ref] }]);
      expect((await api.trash.sweepTrash({ dryRun: false })).deleted).toBe(1n);
      expect((await collect(api.trash.listTrash({ owner }))).flatMap(({ refs }) => refs)).toEqual([]);
      expect(await api.trash.sweepTrash({})).toMatchObject({ deleted: 0n });
    });
  },
  { overrides: { clock: () => now } },
);

contract("A restart", (api) => {
  it("keeps page tokens, seqs, forgotten hashes and watch cursors good", async () => {
    const owner = api.owner();
    await api.rememberAll(
      owner,
      [1n, 2n, 3n].map((tsMs) => ({ id: `e${tsMs}`, tsMs })),
    );
    await api.memory.forget({ owner, id: "e1" });
    const { seq } = await api.remember(owner, { id: "last", tsMs: 4n });
    const other = api.owner();
    await api.remember(other);
    const entries = await api.memory.listEntries({ owner, pageSize: 1 });
    const owners = await api.owners.listOwners({ kind: 1, pageSize: 1 });
    await api.server.restart();
    await reconnected(api);
    const next = await api.memory.listEntries({ owner, pageSize: 1, pageToken: entries.nextPageToken });
    expect(next.entries.map(({ id }) => id)).toEqual(["e3"]);
    expect((await api.owners.listOwners({ kind: 1, pageToken: owners.nextPageToken })).owners).not.toHaveLength(0);
    expect(await failureOf(api.remember(owner, { id: "e1", tsMs: 1n }))).toMatchObject({ reason: "ENTRY_FORGOTTEN" });
    const watcher = watch(api, owner, { afterSeq: seq });
    expect(await watcher.next()).toMatchObject({ changes: undefined, cursor: seq });
    expect((await api.remember(owner)).seq).toBeGreaterThan(seq);
  });
});

it.each(transports)("A server that shuts down ends watches with advice, over $name", async (transport) => {
  const server = await startContractServer();
  const api = new Api(transport);
  api.connect(server);
  const watcher = watch(api, api.owner());
  await watcher.next();
  const failure = failureOf(watcher.next());
  await server.shutDown();
  expect(await failure).toMatchObject({ code: Code.Unavailable, reason: "DRAINING", retryMs: expect.any(Number) });
  api.close();
  await server.stop();
});

/** Connections of before the restart are found dead by the first call. */
async function reconnected(api: Api): Promise<void> {
  await expect
    .poll(
      () =>
        caught(api.info.getServerInfo({})).then(
          () => false,
          () => true,
        ),
      { timeout: 5_000 },
    )
    .toBe(true);
}
