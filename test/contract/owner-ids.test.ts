import { readdir } from "node:fs/promises";
import { Code } from "@connectrpc/connect";
import { OwnerKind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { type Api, collect, contract, newEntry, type OwnerInit, stream } from "./support/contract.js";
import { failureOf, failuresOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";

/** Every call that names an owner. */
const calls: Record<string, (api: Api, owner: OwnerInit) => Promise<unknown>> = {
  remember: (api, owner) => api.remember(owner),
  rememberMany: ({ memory }, owner) => memory.rememberMany(stream({ owner, entries: [newEntry({})] })),
  recall: ({ memory }, owner) => collect(memory.recall({ owner })),
  getEntry: ({ memory }, owner) => memory.getEntry({ owner, id: "a" }),
  listEntries: ({ memory }, owner) => memory.listEntries({ owner }),
  forget: ({ memory }, owner) => memory.forget({ owner, id: "a" }),
  clear: ({ memory }, owner) => memory.clear({ owner, all: true }),
  patchMeta: ({ memory }, owner) => memory.patchMeta({ owner, id: "a", patchJson: "{}" }),
  watch: ({ memory }, owner) => collect(memory.watch({ owner })),
  exportOwner: ({ memory }, owner) => collect(memory.exportOwner({ owner })),
  importOwner: ({ memory }, owner) => memory.importOwner(stream({ owner, lines: Buffer.from("{}\n") })),
  attach: ({ owners }, owner) => owners.attach({ owner }),
  detach: ({ owners }, owner) => owners.detach({ owner }),
  describe: ({ owners }, owner) => owners.describe({ owner }),
  softDelete: ({ trash }, owner) => trash.softDelete({ owner }),
  listTrash: ({ trash }, owner) => collect(trash.listTrash({ owner })),
  restore: ({ trash }, owner) => trash.restore({ owner, refId: "0123456789abcdef" }),
  hardDelete: ({ trash }, owner) => trash.hardDelete({ owner, refId: "0123456789abcdef" }),
};

contract("An owner's id", (api) => {
  it.each([
    [".", "names the directory itself"],
    ["..", "names its parent"],
    ["../x", "leads out"],
    ["a/b", "holds a slash"],
    ["/etc", "is a path"],
    ["a\\b", "holds a backslash"],
    ["a\0b", "holds NUL"],
  ])("%j is refused by every call: it %s", async (id) => {
    for (const [name, call] of Object.entries(calls)) {
      const failure = await failureOf(call(api, { kind: OwnerKind.AGENT, id }));
      expect(failure, name).toMatchObject({ code: Code.InvalidArgument, reason: "OWNER_ID_INVALID" });
      expect(failure.metadata.rule, name).toBeTruthy();
    }
  });

  it.each([
    ["empty", ""],
    ["256 bytes", "x".repeat(256)],
    ["256 bytes in fewer characters", "é".repeat(128)],
  ])("that is %s is refused by every call", async (_, id) => {
    for (const [name, call] of Object.entries(calls)) {
      const failure = await failureOf(call(api, { kind: OwnerKind.AGENT, id }));
      expect(failure, name).toMatchObject({
        code: Code.InvalidArgument,
        reason: "FIELD_INVALID",
        fields: ["owner.id"],
      });
    }
  });

  it("of kind org is self, for every call", async () => {
    for (const [name, call] of Object.entries(calls)) {
      expect(await failureOf(call(api, { kind: OwnerKind.ORG, id: "acme" })), name).toMatchObject({
        code: Code.InvalidArgument,
        reason: "OWNER_ID_INVALID",
      });
    }
    const self = { kind: OwnerKind.ORG, id: "self" };
    const { id } = await api.remember(self);
    expect((await api.memory.getEntry({ owner: self, id })).entry?.text).toBe("hello");
  });

  it.each([OwnerKind.UNSPECIFIED, 7 as OwnerKind])("needs a kind that exists, not %i, for every call", async (kind) => {
    for (const [name, call] of Object.entries(calls)) {
      const failure = await failureOf(call(api, { kind, id: "x" }));
      expect(failure, name).toMatchObject({
        code: Code.InvalidArgument,
        reason: "FIELD_INVALID",
        fields: ["owner.kind"],
      });
    }
  });

  it.each([
    ["a leading dot", ".hidden"],
    ["a newline", "a\nb"],
    ["a tab", "a\tb"],
    ["DEL", "a\u007f"],
    ["a C1 control", "a\u0085"],
    ["decomposed letters", "cafe\u0301"],
    ["compatibility characters that NFC changes", "\u212b"],
  ])("of a new owner has no %s; nothing is there to read either", async (_, id) => {
    const owner = { kind: OwnerKind.USER, id };
    for (const failure of await failuresOf([api.remember(owner), api.owners.attach({ owner })])) {
      expect(failure).toMatchObject({ code: Code.InvalidArgument, reason: "OWNER_ID_INVALID" });
      expect(failure.metadata.rule).toBeTruthy();
    }
    expect(await recall(api, owner)).toMatchObject({ entries: [], summary: { seq: 0n } });
    expect((await api.owners.describe({ owner })).exists).toBe(false);
  });

  it.each([
    ["fullwidth dots and a slash", "．．／"],
    ["a prototype's name", "__proto__"],
    ["a direction override", "a\u202eb"],
    ["trailing dots and spaces", "a. ."],
    ["a device of Windows", "CON"],
    ["a name with a colon", "C:x"],
    ["a percent escape", "%2e%2e%2fx"],
    ["an emoji", "👩‍👩‍👧‍👦"],
    ["quotes", "\"';$(x)`"],
    ["255 bytes", "é".repeat(127)],
  ])("may be %s, which names one directory and nothing else", async (_, name) => {
    const id =
      name.length > 100 ? `${name}${api.transport.name[0] === "g" ? "g" : "c"}` : `${name}${api.transport.name}`;
    const owner = { kind: OwnerKind.PEER, id };
    await api.remember(owner, { text: id });
    expect((await recall(api, owner)).texts).toContain(id);
    const { owners } = await api.owners.listOwners({ kind: OwnerKind.PEER, pageSize: 500 });
    expect(owners.map((summary) => summary.owner?.id)).toContain(id);
    expect(await readdir(`${api.server.dataDir}/peer`)).toContain(id);
    const { ref } = await api.trash.softDelete({ owner });
    expect(await api.trash.restore({ owner, refId: ref?.refId ?? "" })).toMatchObject({ entries: 1n });
    await api.trash.softDelete({ owner });
  });

  it.each([
    ["case", "Alice", "alice"],
    ["case outside ASCII", "Élodie", "éLODIE"],
    ["Unicode form", "Zoé", "Zoe\u0301"],
  ])("is no twin of another's by %s", async (_, name, twin) => {
    const suffix = api.transport.name;
    const existing = { kind: OwnerKind.SHARED, id: `${name}-${suffix}` };
    const other = { kind: OwnerKind.SHARED, id: `${twin}-${suffix}` };
    await api.remember(existing, { text: "mine" });
    const failure = await failureOf(api.remember(other));
    if (failure.reason === "OWNER_NAME_TWIN") {
      expect(failure).toMatchObject({ code: Code.AlreadyExists, metadata: { existing: existing.id } });
    } else {
      // Also no name for a new owner.
      expect([failure.reason, other.id.normalize("NFC") === other.id]).toEqual(["OWNER_ID_INVALID", false]);
    }
    expect((await recall(api, other)).texts).toEqual([]);
    expect((await recall(api, existing)).texts).toEqual(["mine"]);
    // Kinds are apart, and a name that is free again may be taken.
    await api.remember({ ...other, id: other.id.normalize("NFC"), kind: OwnerKind.WORKFLOW_RUN });
    await api.trash.softDelete({ owner: existing });
    await api.remember({ ...other, id: other.id.normalize("NFC") });
    const { owners } = await api.owners.listOwners({ kind: OwnerKind.SHARED, pageSize: 500 });
    expect(owners.filter((summary) => summary.owner?.id === existing.id).length).toBe(name === "Zoé" ? 1 : 0);
  });

  it("of a refused call leaves nothing behind", async () => {
    const top = await readdir(api.server.dataDir);
    expect(top.filter((name) => !name.startsWith(".") && name !== "FORMAT").sort()).toEqual(
      ["agent", "org", "peer", "shared", "user", "workflow-run"].filter((name) => top.includes(name)),
    );
    expect((await readdir(`${api.server.dataDir}/user`).catch(() => [])).length).toBe(0);
  });
});
