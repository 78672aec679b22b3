import { Code } from "@connectrpc/connect";
import { expect, it, vi } from "vitest";
import { openJsonlStore } from "../../memory-service/src/store/jsonl/jsonl-store.js";
import { contract } from "./support/contract.js";
import { caught } from "./support/failure.js";
import { watch } from "./support/watcher.js";

contract("An open watch", (api) => {
  it("ends when the caller goes away, on both sides", async () => {
    const owner = api.owner();
    const openStreams = async () => {
      const metrics = await (await fetch(`http://${api.server.http}/metrics`)).text();
      return Number(/^reverie_rpc_open_streams\{[^}]*method="Watch"[^}]*\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
    };
    await vi.waitFor(async () => expect(await openStreams()).toBe(0));
    const watcher = watch(api, owner);
    await watcher.next();
    expect(await openStreams()).toBe(1);
    const waiting = caught(watcher.next());
    watcher.cancel();
    expect((await waiting).code).toBe(Code.Canceled);
    await vi.waitFor(async () => expect(await openStreams()).toBe(0));
  });

  it("keeps the caller's deadline", async () => {
    const watcher = watch(api, api.owner(), {}, 100);
    await watcher.next();
    expect((await caught(watcher.next())).code).toBe(Code.DeadlineExceeded);
  });

  it("is told to many at once", async () => {
    const owner = api.owner();
    const watchers = Array.from({ length: 20 }, () => watch(api, owner));
    for (const watcher of watchers) await watcher.next();
    await api.remember(owner, { id: "a" });
    for (const watcher of watchers) expect((await watcher.next()).changes).toEqual(["+a"]);
    for (const watcher of watchers) watcher.cancel();
  });
});

contract(
  "An idle watch",
  (api) => {
    it("sends its cursor again and again", async () => {
      const owner = api.owner();
      const { seq } = await api.remember(owner);
      const watcher = watch(api, owner);
      for (let n = 0; n < 3; n++) expect(await watcher.next()).toMatchObject({ changes: undefined, cursor: seq });
      const next = await api.remember(owner, { id: "a" });
      expect(await watcher.until("+a")).toEqual(["+a"]);
      expect(await watcher.next()).toMatchObject({ changes: undefined, cursor: next.seq });
      watcher.cancel();
    });
  },
  {
    async store(root) {
      const store = await openJsonlStore({ root });
      const { watch: watchStore } = store;
      // The service announces 30 s and has no option for it.
      store.watch = (owner, query, signal) => watchStore.call(store, owner, { ...query, idleMs: 30 }, signal);
      return store;
    },
  },
);
