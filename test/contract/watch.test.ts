import { toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Kind, WatchResponseSchema } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract } from "./support/contract.js";
import { failureOf } from "./support/failure.js";
import { watch } from "./support/watcher.js";

contract("Watch", (api) => {
  it("begins with the owner's seq, then tells what is new", async () => {
    const owner = api.owner();
    const old = await api.remember(owner, { id: "old" });
    const watcher = watch(api, owner);
    expect(await watcher.next()).toMatchObject({ changes: undefined, cursor: old.seq });
    const entry = await api.remember(owner, { id: "a", metaJson: '{"a":1}' });
    const seen = await watcher.next();
    expect(seen).toMatchObject({ changes: ["+a"], cursor: entry.seq });
    expect(seen.message.event).toMatchObject({ value: { changes: [{ change: { case: "upserted", value: entry } }] } });
    const { entry: patched } = await api.memory.patchMeta({ owner, id: "old", patchJson: '{"b":2}' });
    expect((await watcher.next()).message.event).toMatchObject({
      value: { changes: [{ change: { value: patched } }], cursor: patched?.seq },
    });
    const { seq } = await api.memory.forget({ owner, id: "a" });
    const gone = { id: "a", kind: Kind.EPISODIC, seq };
    expect((await watcher.next()).message.event).toMatchObject({
      value: { changes: [{ change: { case: "deleted", value: gone } }], cursor: seq },
    });
    watcher.cancel();
  });

  it("from 0 tells all that lives, in seq order, then its cursor", async () => {
    const owner = api.owner();
    for (const [n, tsMs] of [30n, 10n, 20n].entries()) {
      await api.remember(owner, { id: `e${n}`, tsMs, kind: [Kind.WORKING, Kind.EPISODIC, Kind.SEMANTIC][n] as Kind });
    }
    await api.remember(owner, { id: "gone" });
    await api.memory.forget({ owner, id: "gone" });
    const { seq } = await api.memory.patchMeta({ owner, id: "e0", patchJson: '{"a":1}' });
    const watcher = watch(api, owner, { afterSeq: 0n });
    expect(await watcher.until("+e0")).toEqual(["+e1", "+e2", "+e0"]);
    expect(await watcher.next()).toMatchObject({ changes: undefined, cursor: seq });
    await api.remember(owner, { id: "next" });
    expect((await watcher.next()).changes).toEqual(["+next"]);
    watcher.cancel();
  });

  it("resumes after a seq, with the latest version of what changed and what is gone", async () => {
    const owner = api.owner();
    for (const id of ["a", "b", "c"]) await api.remember(owner, { id });
    const { seq } = await api.remember(owner, { id: "d" });
    for (const n of [1, 2, 3]) await api.memory.patchMeta({ owner, id: "a", patchJson: `{"n":${n}}` });
    await api.memory.forget({ owner, id: "b" });
    const last = await api.remember(owner, { id: "e" });
    const watcher = watch(api, owner, { afterSeq: seq });
    expect(await watcher.until("+e")).toEqual(["+a", "-b", "+e"]);
    expect(await watcher.next()).toMatchObject({ changes: undefined, cursor: last.seq });
    watcher.cancel();
    const upToDate = watch(api, owner, { afterSeq: last.seq });
    expect(await upToDate.next()).toMatchObject({ changes: undefined, cursor: last.seq });
    upToDate.cancel();
  });

  it("resumes after any cursor that it gave, and loses nothing", async () => {
    const owner = api.owner();
    const ids = Array.from({ length: 12 }, (_, n) => `e${n}`);
    for (const id of ids) await api.remember(owner, { id, text: id.padEnd(30_000, "x") });
    const seen: string[] = [];
    let cursor = 0n;
    while (seen.length < ids.length) {
      const watcher = watch(api, owner, { afterSeq: cursor });
      const next = await watcher.next();
      watcher.cancel();
      seen.push(...(next.changes ?? []));
      cursor = next.cursor;
    }
    expect(seen).toEqual(ids.map((id) => `+${id}`));
  });

  it("sends batches of up to 64 KiB, or of one larger entry", async () => {
    const owner = api.owner();
    const sizes = [10, 40_000, 40_000, 60_000, 200_000, 10, 20];
    await api.rememberAll(
      owner,
      sizes.map((size, n) => ({ id: `e${n}`, text: "x".repeat(size) })),
    );
    const watcher = watch(api, owner, { afterSeq: 0n });
    const seen: string[] = [];
    while (!seen.includes("+e6")) {
      const { changes = [], message } = await watcher.next();
      seen.push(...changes);
      if (changes.length > 1) expect(toBinary(WatchResponseSchema, message).length).toBeLessThanOrEqual(65_536);
    }
    watcher.cancel();
    expect(seen).toEqual(sizes.map((_, n) => `+e${n}`));
  });

  it("tells of the kinds asked for only", async () => {
    const owner = api.owner();
    await api.remember(owner, { id: "a", kind: Kind.WORKING });
    const watcher = watch(api, owner, { kinds: [Kind.SEMANTIC], afterSeq: 0n });
    expect((await watcher.next()).changes).toBeUndefined();
    for (const [id, kind] of [
      ["b", Kind.EPISODIC],
      ["c", Kind.SEMANTIC],
      ["d", Kind.WORKING],
      ["e", Kind.SEMANTIC],
    ] as const) {
      await api.remember(owner, { id, kind });
    }
    expect(await watcher.until("+e")).toEqual(["+c", "+e"]);
    watcher.cancel();
  });

  it("waits for an owner that doesn't exist yet", async () => {
    for (const request of [{}, { afterSeq: 0n }]) {
      const owner = api.owner();
      const watcher = watch(api, owner, request);
      expect(await watcher.next()).toMatchObject({ changes: undefined, cursor: 0n });
      const { seq } = await api.remember(owner, { id: "a" });
      expect(await watcher.next()).toMatchObject({ changes: ["+a"], cursor: seq });
      watcher.cancel();
    }
  });

  it("refuses a cursor from before Clear, and tells an open watch", async () => {
    const owner = api.owner();
    const { seq } = await api.remember(owner);
    const open = watch(api, owner);
    await open.next();
    const cleared = await api.memory.clear({ owner, all: true });
    const { watchFloorSeq } = await api.owners.describe({ owner });
    const expired = {
      code: Code.OutOfRange,
      reason: "WATCH_CURSOR_EXPIRED",
      metadata: { floor: String(watchFloorSeq) },
    };
    expect(await failureOf(open.next())).toMatchObject(expired);
    expect(await failureOf(watch(api, owner, { afterSeq: seq }).next())).toMatchObject(expired);
    expect(watchFloorSeq).toBeGreaterThan(seq);
    const { seq: listed } = await api.memory.listEntries({ owner });
    expect(listed).toBe(cleared.seq);
    const again = watch(api, owner, { afterSeq: listed });
    expect(await again.next()).toMatchObject({ changes: undefined, cursor: listed });
    again.cancel();
  });

  it("refuses a cursor from before a stay in the trash", async () => {
    const owner = api.owner();
    const { seq } = await api.remember(owner);
    const { ref } = await api.trash.softDelete({ owner });
    const { seq: restored } = await api.trash.restore({ owner, refId: ref?.refId ?? "" });
    expect(await failureOf(watch(api, owner, { afterSeq: seq }).next())).toMatchObject({
      code: Code.OutOfRange,
      reason: "WATCH_CURSOR_EXPIRED",
    });
    const again = watch(api, owner, { afterSeq: restored });
    expect((await again.next()).cursor).toBe(restored);
    again.cancel();
  });

  it("refuses a cursor above the owner's seq", async () => {
    const owner = api.owner();
    const { seq } = await api.remember(owner);
    expect(await failureOf(watch(api, owner, { afterSeq: seq + 1n }).next())).toMatchObject({
      code: Code.OutOfRange,
      reason: "SEQ_NOT_REACHED",
      metadata: { seq: String(seq) },
    });
    expect(await failureOf(watch(api, owner, { afterSeq: -1n }).next())).toMatchObject({
      code: Code.InvalidArgument,
      reason: "FIELD_INVALID",
      fields: ["after_seq"],
    });
  });
});
