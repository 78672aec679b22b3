import { Code } from "@connectrpc/connect";
import { Kind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract } from "./support/contract.js";
import { failureOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";
import { deleted } from "./support/trashed.js";

contract("Restore", (api) => {
  it("doesn't restore onto a living owner", async () => {
    const owner = api.owner();
    await api.remember(owner, { text: "old" });
    const { refId } = await deleted(api, owner);
    await api.remember(owner, { id: "b", text: "new" });
    const failure = await failureOf(api.trash.restore({ owner, refId }));
    expect(failure).toMatchObject({ code: Code.FailedPrecondition, reason: "TRASH_RESTORE_CONFLICT" });
    expect(failure.metadata.conflict).toBeTruthy();
    expect((await recall(api, owner)).texts).toEqual(["new"]);
    await api.memory.forget({ owner, id: "b" });
    expect(await api.trash.restore({ owner, refId })).toMatchObject({ entries: 1n });
    expect((await recall(api, owner)).texts).toEqual(["old"]);
  });

  it("restores beside a config and other files, but over no file of the same name", async () => {
    const owner = api.owner();
    await api.remember(owner);
    await api.server.plant(`agent/${owner.id}`, "notes.txt", "first");
    const { refId } = await deleted(api, owner);
    await api.owners.attach({ owner, config: { maxEpisodicBytes: 7_000n } });
    await api.server.plant(`agent/${owner.id}`, "notes.txt", "second");
    expect(await failureOf(api.trash.restore({ owner, refId }))).toMatchObject({
      reason: "TRASH_RESTORE_CONFLICT",
      metadata: { conflict: "notes.txt" },
    });
    const other = api.owner();
    await api.remember(other);
    const ref = await deleted(api, other);
    await api.owners.attach({ owner: other, config: { maxEpisodicBytes: 7_000n } });
    await api.server.plant(`agent/${other.id}`, "other.txt", "kept");
    expect(await api.trash.restore({ owner: other, refId: ref.refId })).toMatchObject({ entries: 1n });
    expect(await api.owners.describe({ owner: other })).toMatchObject({
      attached: true,
      config: { maxEpisodicBytes: 7_000n },
    });
  });

  it("still knows what was forgotten before and during the stay", async () => {
    const owner = api.owner();
    for (const id of ["a", "b"]) await api.remember(owner, { id });
    await api.memory.forget({ owner, id: "a" });
    const { refId } = await deleted(api, owner);
    await api.trash.restore({ owner, refId });
    expect(await failureOf(api.remember(owner, { id: "a" }))).toMatchObject({ reason: "ENTRY_FORGOTTEN" });
    expect(await api.memory.remember({ owner, entry: { id: "b", text: "hello", kind: Kind.EPISODIC } })).toMatchObject({
      alreadyStored: true,
    });
  });
});
