import { OwnerKind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { collect, contract } from "./support/contract.js";
import { listed } from "./support/trashed.js";

const DAY_MS = 86_400_000;
const RETENTION_MS = 30 * DAY_MS;

contract("A large trash", (api) => {
  it("is listed newest first, at most 100 a message", async () => {
    // As another implementation leaves them: some without payload.
    const planted = Array.from({ length: 205 }, (_, n) => ({
      refId: n.toString(16).padStart(16, "0"),
      deletedAt: Date.now() - n * 1_000,
    }));
    for (const { refId, deletedAt } of planted) {
      const meta = {
        id: refId,
        type: "memory",
        impl: "file",
        ownerKind: "shared",
        ownerId: `g${refId}`,
        deletedAt,
        expiresAt: deletedAt + RETENTION_MS,
      };
      await api.server.plant(`.trash/${refId}`, "meta.json", JSON.stringify(meta));
    }
    const messages = await collect(api.trash.listTrash({}));
    for (const { refs } of messages) expect(refs.length).toBeLessThanOrEqual(100);
    const refs = messages.flatMap((message) => message.refs);
    expect(refs.map((ref) => ref.refId)).toEqual(planted.map(({ refId }) => refId));
    expect(refs[0]).toMatchObject({
      owner: { kind: OwnerKind.SHARED, id: "g0000000000000000" },
      reason: "",
      hasPayload: false,
    });
    expect(await listed(api, { kind: OwnerKind.SHARED, id: `g${planted[204]?.refId}` })).toHaveLength(1);
    expect(await listed(api, api.owner())).toEqual([]);
  });
});

contract(
  "A ref's id",
  (api) => {
    it("is the one that other implementations give", async () => {
      const { ref } = await api.trash.softDelete({ owner: { kind: OwnerKind.AGENT, id: "x" } });
      expect(ref).toMatchObject({ refId: "58487d231adb0a5c", deletedAtMs: 1_764_460_800_000n });
    });
  },
  { overrides: { clock: () => 20_422 * DAY_MS } },
);
