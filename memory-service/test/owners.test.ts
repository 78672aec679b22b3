import { describe, expect, it } from "vitest";
import { attach, describe as describeOwner, detach, listOwners } from "../src/domain/owners.js";
import { remember } from "../src/domain/remember.js";
import { hardDelete, listTrash, restore, softDelete, sweepTrash } from "../src/domain/trash.js";
import { allKinds, draft, owner, tempMemory } from "./temp-memory.js";

const plain = { minSeq: 0, preview: false };

describe("a config", () => {
  it("left out stores the service's defaults as they are now", async () => {
    const defaults = { ...allKinds, maxEpisodicBytes: 5_000_000 };
    const memory = await tempMemory(defaults);
    expect(await attach(memory, owner, undefined, false)).toEqual({ config: defaults, changed: true });
    expect((await describeOwner(memory, owner, plain)).state.effective).toEqual({ config: defaults, attached: true });
    const later = { ...memory, defaults: allKinds };
    await expect(attach(later, owner, undefined, false)).rejects.toMatchObject({ reason: "CONFIG_EXISTS" });
  });

  it("sent again changes nothing; another one must ask to replace", async () => {
    const memory = await tempMemory();
    const config = { allowedKinds: ["working", "semantic"], maxEpisodicBytes: 0, maxSemanticBytes: 9 } as const;
    await attach(memory, owner, config, false);
    const sorted = { ...config, allowedKinds: ["semantic", "working"] };
    expect(await attach(memory, owner, config, false)).toEqual({ config: sorted, changed: false });
    await expect(attach(memory, owner, allKinds, false)).rejects.toMatchObject({ reason: "CONFIG_EXISTS" });
    expect(await attach(memory, owner, { ...allKinds, allowedKinds: [] }, true)).toEqual({
      config: allKinds,
      changed: true,
    });
    expect(await detach(memory, owner)).toEqual({ found: true });
    expect(await detach(memory, owner)).toEqual({ found: false });
  });

  it("with a broken cap is refused", async () => {
    const memory = await tempMemory();
    await expect(attach(memory, owner, { ...allKinds, maxSemanticBytes: -1 }, false)).rejects.toMatchObject({
      reason: "FIELD_INVALID",
      violations: [{ field: "config.max_semantic_bytes" }],
    });
  });
});

describe("describe", () => {
  it("of an owner that doesn't exist is zero", async () => {
    const memory = await tempMemory();
    const { state, preview } = await describeOwner(memory, owner, { minSeq: 0, preview: true });
    expect(state).toMatchObject({ exists: false, seq: 0, corruptLines: 0 });
    expect(preview).toBe("");
  });

  it("previews the newest entries as JSONL, up to 32 KiB and an entry's end", async () => {
    const memory = await tempMemory();
    for (let i = 0; i < 60; i++) {
      await remember(memory, owner, draft(`e${i}`, "é".repeat(500), { meta: '{"n":1.0}', ts: 1_000 + i }));
    }
    const { preview } = await describeOwner(memory, owner, { minSeq: 0, preview: true });
    const lines = preview.split("\n");
    expect(lines.pop()).toBe("");
    expect(Buffer.byteLength(preview)).toBeLessThanOrEqual(32_768);
    expect(Buffer.byteLength(preview)).toBeGreaterThan(31_000);
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(lines.map((_, i) => `e${59 - i}`));
    expect(lines[0]).toBe(`{"id":"e59","kind":"episodic","text":"${"é".repeat(500)}","ts":1059,"meta":{"n":1.0}}`);
    expect((await describeOwner(memory, owner, plain)).preview).toBe("");
  });

  it("previews many small entries over several pages", async () => {
    const memory = await tempMemory();
    const items = Array.from({ length: 700 }, (_, i) => ({
      ...draft(`${i}`, "x"),
      kind: "working" as const,
      ts: i,
      meta: "",
    }));
    await memory.store.append(owner, items);
    const { preview } = await describeOwner(memory, owner, { minSeq: 0, preview: true });
    expect(preview.split("\n").length - 1).toBeGreaterThan(600);
  });
});

describe("listOwners", () => {
  it("pages through the owners of one kind by id", async () => {
    const memory = await tempMemory();
    const ids = Array.from({ length: 12 }, (_, i) => `o${String(i).padStart(2, "0")}`);
    for (const id of ids) await remember(memory, { kind: "shared", id }, draft("a"));
    await remember(memory, owner, draft("a"));
    const found: string[] = [];
    let token = "";
    do {
      const page = await listOwners(memory, "shared", 5, token);
      found.push(...page.owners.map((item) => item.owner.id));
      token = page.nextPageToken;
    } while (token !== "");
    expect(found).toEqual(ids);
    const { nextPageToken } = await listOwners(memory, "shared", 5, "");
    await expect(listOwners(memory, "agent", 5, nextPageToken)).rejects.toMatchObject({ reason: "PAGE_TOKEN_INVALID" });
  });

  it("says nothing follows where the last page is full", async () => {
    const memory = await tempMemory();
    for (const id of ["a", "b"]) await remember(memory, { kind: "peer", id }, draft("a"));
    expect((await listOwners(memory, "peer", 2, "")).nextPageToken).toBe("");
  });
});

describe("the trash", () => {
  it("takes an owner and gives it back, for that owner only", async () => {
    const memory = await tempMemory();
    await remember(memory, owner, draft("a"));
    const { ref, moved } = await softDelete(memory, owner, "over");
    expect([moved, ref.reason, ref.hasPayload]).toEqual([true, "over", true]);
    expect((await listTrash(memory, undefined)).map((item) => item.refId)).toEqual([ref.refId]);
    const bob = { kind: "agent", id: "bob" } as const;
    await expect(restore(memory, bob, ref.refId)).rejects.toMatchObject({ reason: "TRASH_NOT_FOUND" });
    expect((await restore(memory, owner, ref.refId)).entries).toBe(1);
  });

  it("knows no ref but 16 hexadecimal digits", async () => {
    const memory = await tempMemory();
    await remember(memory, owner, draft("a"));
    for (const refId of [
      "",
      "..",
      "../agent/alice",
      "58487D231ADB0A5C",
      "58487d231adb0a5c/../..",
      "58487d231adb0a5c\n",
    ]) {
      await expect(hardDelete(memory, owner, refId)).rejects.toMatchObject({ reason: "TRASH_NOT_FOUND" });
      await expect(restore(memory, owner, refId)).rejects.toMatchObject({ reason: "TRASH_NOT_FOUND" });
    }
    expect((await describeOwner(memory, owner, plain)).state.exists).toBe(true);
  });

  it("sweeps nothing before its time and takes a reason up to 1 KiB", async () => {
    const memory = await tempMemory();
    await remember(memory, owner, draft("a"));
    await expect(softDelete(memory, owner, "x".repeat(1_025))).rejects.toMatchObject({ reason: "FIELD_INVALID" });
    const { ref } = await softDelete(memory, owner, "é".repeat(512));
    expect(await sweepTrash(memory, false)).toMatchObject({ deleted: 0 });
    expect((await hardDelete(memory, owner, ref.refId)).freedBytes).toBeGreaterThan(0);
  });
});
