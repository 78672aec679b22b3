import { createHash } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { Kind, OwnerKind, type TrashRef } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract } from "./support/contract.js";
import { failureOf, failuresOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";
import { deleted, listed } from "./support/trashed.js";

const DAY_MS = 86_400_000;
const RETENTION_MS = 30 * DAY_MS;

const refIdOf = (kind: string, id: string, deletedAtMs: bigint, suffix = ""): string =>
  createHash("sha256")
    .update(`memory|file|${kind}|${id}|${Math.floor(Number(deletedAtMs) / DAY_MS)}${suffix}`)
    .digest("hex")
    .slice(0, 16);

contract("The trash", (api) => {
  it("takes a whole owner and gives it back", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner, config: { maxSemanticBytes: 9_000n } });
    await api.remember(owner, { id: "a", tsMs: 5n, metaJson: '{"a":1.0}' });
    await api.remember(owner, { id: "b", kind: Kind.WORKING });
    await api.server.plant(`agent/${owner.id}`, "notes.txt", "the hub's own");
    const before = Date.now();
    const answer = await api.trash.softDelete({ owner, reason: "délai\n" });
    const after = Date.now();
    const ref = answer.ref as TrashRef;
    expect(answer.moved).toBe(true);
    expect(ref).toMatchObject({ owner, reason: "délai\n", hasPayload: true });
    expect(ref.refId).toBe(refIdOf("agent", owner.id, ref.deletedAtMs));
    expect(Number(ref.deletedAtMs)).toBeGreaterThanOrEqual(before);
    expect(Number(ref.deletedAtMs)).toBeLessThanOrEqual(after);
    expect(ref.expiresAtMs - ref.deletedAtMs).toBe(BigInt(RETENTION_MS));
    expect(await listed(api, owner)).toEqual([ref]);
    expect(await api.owners.describe({ owner })).toMatchObject({ exists: false, items: [], attached: false });
    expect((await recall(api, owner)).texts).toEqual([]);

    const restored = await api.trash.restore({ owner, refId: ref.refId });
    expect(restored.entries).toBe(2n);
    expect(restored.seq).toBeGreaterThanOrEqual(answer.seq);
    expect(await listed(api, owner)).toEqual([]);
    expect((await api.memory.getEntry({ owner, id: "a", minSeq: restored.seq })).entry).toMatchObject({
      tsMs: 5n,
      metaJson: '{"a":1.0}',
    });
    expect(await api.owners.describe({ owner })).toMatchObject({
      attached: true,
      config: { maxSemanticBytes: 9_000n },
    });
    expect(await failureOf(api.trash.restore({ owner, refId: ref.refId }))).toMatchObject({
      reason: "TRASH_NOT_FOUND",
    });
    // It holds the hub's file again: with that, there is something to move.
    expect((await api.memory.clear({ owner, all: true })).removed).toBe(2n);
    expect((await api.trash.softDelete({ owner })).moved).toBe(true);
  });

  it("lets a later life of the owner go on above its seq", async () => {
    const owner = api.owner();
    const first = await api.remember(owner, { id: "a" });
    const { seq: left, ref } = await api.trash.softDelete({ owner });
    expect(left).toBeGreaterThanOrEqual(first.seq);
    const second = await api.remember(owner, { id: "a", text: "second life" });
    expect(second.seq).toBeGreaterThan(left);
    await api.trash.softDelete({ owner });
    const restored = await api.trash.restore({ owner, refId: ref?.refId ?? "" });
    expect(restored.seq).toBeGreaterThan(second.seq);
    expect((await api.remember(owner)).seq).toBeGreaterThan(restored.seq);
    expect((await recall(api, owner)).texts).toEqual(["hello", "hello"]);
  });

  it("keeps each life of an owner under a ref of its own", async () => {
    const owner = api.owner("twice", OwnerKind.WORKFLOW_RUN);
    const refs: TrashRef[] = [];
    for (const text of ["one", "two", "three"]) {
      await api.remember(owner, { text });
      refs.push(await deleted(api, owner));
    }
    expect(refs.map((ref) => ref.refId)).toEqual(
      ["", "|2", "|3"].map((suffix, n) => refIdOf("workflow-run", owner.id, refs[n]?.deletedAtMs ?? 0n, suffix)),
    );
    expect(new Set((await listed(api, owner)).map((ref) => ref.refId))).toEqual(new Set(refs.map((ref) => ref.refId)));
    await api.trash.restore({ owner, refId: refs[1]?.refId ?? "" });
    expect((await recall(api, owner)).texts).toEqual(["two"]);
    expect(await listed(api, owner)).toHaveLength(2);
  });

  it("with nothing to move gives the owner's newest ref, or a new one without payload", async () => {
    const [never, once] = [api.owner(), api.owner()];
    const answer = await api.trash.softDelete({ owner: never });
    expect(answer).toMatchObject({ moved: false, ref: { owner: never, hasPayload: false } });
    expect(answer.ref?.refId).toBe(refIdOf("agent", never.id, answer.ref?.deletedAtMs ?? 0n));
    expect(await api.trash.softDelete({ owner: never })).toMatchObject({
      moved: false,
      ref: { refId: answer.ref?.refId },
    });

    await api.remember(once);
    const ref = await deleted(api, once);
    expect(await api.trash.softDelete({ owner: once })).toMatchObject({
      moved: false,
      ref: { refId: ref.refId, hasPayload: true },
    });
    expect(await api.trash.restore({ owner: once, refId: ref.refId })).toMatchObject({ entries: 1n });
  });

  it("leaves a stored config alone where there is nothing else", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner });
    expect((await api.trash.softDelete({ owner })).moved).toBe(false);
  });

  it("says of a foreign ref what it says of none", async () => {
    const [owner, other] = [api.owner(), api.owner()];
    for (const each of [owner, other]) await api.remember(each);
    const { refId } = await deleted(api, owner);
    const missing = await failureOf(api.trash.restore({ owner: other, refId: "0123456789abcdef" }));
    expect(missing).toMatchObject({
      code: Code.NotFound,
      reason: "TRASH_NOT_FOUND",
      metadata: { ref_id: "0123456789abcdef" },
    });
    const foreign = [api.trash.restore({ owner: other, refId }), api.trash.hardDelete({ owner: other, refId })];
    for (const failure of await failuresOf(foreign)) {
      expect(failure).toEqual({ ...missing, metadata: { ref_id: refId } });
    }
    for (const wrong of [
      "../x",
      refId.toUpperCase() === refId ? `${refId}0` : refId.toUpperCase(),
      `${refId}/payload`,
      ".",
    ]) {
      expect(await failureOf(api.trash.hardDelete({ owner, refId: wrong }))).toMatchObject({
        reason: "TRASH_NOT_FOUND",
      });
    }
    for (const wrong of ["", "x".repeat(65)]) {
      const calls = [api.trash.restore({ owner, refId: wrong }), api.trash.hardDelete({ owner, refId: wrong })];
      for (const failure of await failuresOf(calls)) {
        expect(failure).toMatchObject({ code: Code.InvalidArgument, reason: "FIELD_INVALID", fields: ["ref_id"] });
      }
    }
    expect(await listed(api, owner)).toHaveLength(1);
  });

  it("deletes one ref for good", async () => {
    const owner = api.owner();
    await api.remember(owner, { text: "x".repeat(10_000) });
    const { refId } = await deleted(api, owner);
    expect((await api.trash.hardDelete({ owner, refId })).freedBytes).toBeGreaterThan(10_000n);
    expect(await listed(api, owner)).toEqual([]);
    for (const failure of await failuresOf([
      api.trash.restore({ owner, refId }),
      api.trash.hardDelete({ owner, refId }),
    ])) {
      expect(failure).toMatchObject({ code: Code.NotFound, reason: "TRASH_NOT_FOUND" });
    }
  });

  it("takes a reason of at most 1 KiB", async () => {
    const owner = api.owner();
    expect(await failureOf(api.trash.softDelete({ owner, reason: `${"é".repeat(512)}x` }))).toMatchObject({
      reason: "FIELD_INVALID",
      fields: ["reason"],
    });
    expect((await deleted(api, owner, "é".repeat(512))).reason).toBe("é".repeat(512));
  });

  it("is swept of nothing before its time", async () => {
    const owner = api.owner();
    await api.remember(owner);
    await deleted(api, owner);
    for (const dryRun of [true, false]) {
      expect(await api.trash.sweepTrash({ dryRun })).toMatchObject({ deleted: 0n, freedBytes: 0n });
    }
    expect(await listed(api, owner)).toHaveLength(1);
  });
});
