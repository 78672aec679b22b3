import { Code } from "@connectrpc/connect";
import { Kind, OwnerKind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract } from "./support/contract.js";
import { failureOf } from "./support/failure.js";

contract("Describe", (api) => {
  it("is all zero for an owner that doesn't exist", async () => {
    const owner = api.owner();
    expect(await api.owners.describe({ owner, preview: true })).toMatchObject({
      owner,
      exists: false,
      liveBytes: 0n,
      diskBytes: 0n,
      items: [],
      lastAccessMs: 0n,
      corruptLines: 0n,
      tornTails: 0n,
      droppedByCaps: 0n,
      durability: "fsync",
      attached: false,
      seq: 0n,
      watchFloorSeq: 0n,
      preview: "",
      writable: true,
      config: {
        allowedKinds: [Kind.EPISODIC, Kind.SEMANTIC, Kind.WORKING],
        maxEpisodicBytes: 0n,
        maxSemanticBytes: 0n,
      },
    });
  });

  it("counts entries and bytes", async () => {
    const owner = api.owner();
    const before = Date.now();
    await api.rememberAll(owner, [
      { id: "a", text: "x".repeat(1_000) },
      { id: "b", text: "é".repeat(1_000) },
      { id: "c", kind: Kind.WORKING },
    ]);
    const { seq } = await api.memory.forget({ owner, id: "a" });
    const described = await api.owners.describe({ owner, minSeq: seq });
    const after = Date.now();
    expect(described).toMatchObject({ owner, exists: true, seq, attached: false, writable: true, preview: "" });
    expect(described.items.map(({ kind, entries }) => [kind, entries])).toEqual([
      [Kind.EPISODIC, 1n],
      [Kind.WORKING, 1n],
    ]);
    const sum = (of: "liveBytes" | "diskBytes") => described.items.reduce((all, item) => all + item[of], 0n);
    expect([described.liveBytes, described.diskBytes]).toEqual([sum("liveBytes"), sum("diskBytes")]);
    expect(described.items[0]?.liveBytes).toBeGreaterThan(2_000n);
    expect(described.items[0]?.liveBytes).toBeLessThan(2_300n);
    expect(described.items[0]?.diskBytes).toBeGreaterThan(3_000n);
    expect(Number(described.lastAccessMs)).toBeGreaterThanOrEqual(before);
    expect(Number(described.lastAccessMs)).toBeLessThanOrEqual(after);
  });

  it("previews the newest entries in at most 32 KiB of whole lines", async () => {
    const owner = api.owner();
    await api.rememberAll(
      owner,
      Array.from({ length: 60 }, (_, n) => ({
        id: `e${n}`,
        tsMs: BigInt(n + 1),
        text: "é".repeat(500),
        metaJson: `{"n":${n}.0}`,
      })),
    );
    const { preview } = await api.owners.describe({ owner, preview: true });
    expect(Buffer.byteLength(preview)).toBeLessThanOrEqual(32_768);
    expect(Buffer.byteLength(preview)).toBeGreaterThan(31_000);
    const lines = preview
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map((line) => line.id)).toEqual(lines.map((_, n) => `e${59 - n}`));
    expect(lines[0]).toMatchObject({ kind: "episodic", text: "é".repeat(500), ts: 60, meta: { n: 59 } });
    await api.remember(owner, { text: "x".repeat(40_000) });
    expect((await api.owners.describe({ owner, preview: true })).preview).toBe("");
  });

  it("answers from a state that holds min_seq, or not at all", async () => {
    const owner = api.owner();
    const { seq } = await api.remember(owner);
    expect(await failureOf(api.owners.describe({ owner, minSeq: seq + 1n }))).toMatchObject({
      code: Code.OutOfRange,
      reason: "SEQ_NOT_REACHED",
      metadata: { seq: String(seq) },
    });
  });
});

contract("ListOwners", (api) => {
  async function listed(kind: OwnerKind, pageSize: number): Promise<string[]> {
    const ids: string[] = [];
    let pageToken = "";
    do {
      const answer = await api.owners.listOwners({ kind, pageSize, pageToken });
      expect(answer.owners.length).toBeLessThanOrEqual(pageSize);
      ids.push(...answer.owners.map((summary) => summary.owner?.id ?? ""));
      pageToken = answer.nextPageToken;
    } while (pageToken !== "");
    return ids;
  }

  it("pages through the owners of a kind, by id", async () => {
    const made = ["b", "a", "B", "é", "z", "Ω", "😀", "\uffee", "__proto__"].map((name) =>
      api.owner(name, OwnerKind.PEER),
    );
    const elsewhere = api.owner("elsewhere", OwnerKind.SHARED);
    for (const owner of [...made, elsewhere]) await api.remember(owner);
    const mine = made.map((owner) => owner.id).sort();
    for (const pageSize of [1, 3, 500]) {
      const ids = await listed(OwnerKind.PEER, pageSize);
      expect(ids).toEqual(ids.toSorted());
      expect(ids.filter((id) => id.startsWith(`${api.transport.name}-`) && mine.includes(id))).toEqual(mine);
      expect(ids).not.toContain(elsewhere.id);
    }
  });

  it("sums each owner up", async () => {
    const [stored, attached] = [api.owner("stored", OwnerKind.USER), api.owner("attached", OwnerKind.USER)];
    await api.remember(stored, { text: "x".repeat(1_000) });
    await api.owners.attach({ owner: attached });
    const { owners } = await api.owners.listOwners({ kind: OwnerKind.USER, pageSize: 500 });
    const find = (id: string) => owners.find((summary) => summary.owner?.id === id);
    expect(find(stored.id)).toMatchObject({ owner: stored, attached: false });
    expect(find(stored.id)?.diskBytes).toBe((await api.owners.describe({ owner: stored })).diskBytes);
    expect(find(attached.id)).toMatchObject({ owner: attached, attached: true, diskBytes: 0n });
  });

  it("moves no page while owners come and go", async () => {
    const kind = OwnerKind.WORKFLOW_RUN;
    const run = (name: string) => ({ kind, id: `${api.transport.name}!${name}` });
    for (const name of ["b", "d", "f"]) await api.remember(run(name));
    const ids: string[] = [];
    let pageToken = "";
    do {
      const answer = await api.owners.listOwners({ kind, pageSize: 1, pageToken });
      const id = answer.owners[0]?.owner?.id ?? "";
      ids.push(id);
      pageToken = answer.nextPageToken;
      if (id === run("b").id) for (const name of ["a", "c"]) await api.remember(run(name));
      if (id === run("b").id) await api.trash.softDelete({ owner: run("b") });
    } while (pageToken !== "");
    expect(ids.filter((id) => id.startsWith(`${api.transport.name}!`))).toEqual(
      ["b", "c", "d", "f"].map((name) => run(name).id),
    );
  });

  it("refuses tokens of other listings, no kind, and negative sizes", async () => {
    for (const name of ["1", "2"]) await api.remember(api.owner(name, OwnerKind.SHARED));
    const owner = api.owner();
    await api.rememberAll(owner, [{}, {}]);
    const { nextPageToken } = await api.owners.listOwners({ kind: OwnerKind.SHARED, pageSize: 1 });
    const { nextPageToken: entries } = await api.memory.listEntries({ owner, pageSize: 1 });
    for (const request of [
      { kind: OwnerKind.USER, pageToken: nextPageToken },
      { kind: OwnerKind.SHARED, pageToken: entries },
      { kind: OwnerKind.SHARED, pageToken: "garbage" },
      { kind: OwnerKind.SHARED, pageToken: `${nextPageToken}=` },
    ]) {
      expect(await failureOf(api.owners.listOwners(request))).toMatchObject({
        code: Code.InvalidArgument,
        reason: "PAGE_TOKEN_INVALID",
      });
    }
    expect(
      await failureOf(api.owners.listOwners({ kind: 7 as OwnerKind, pageSize: -1, pageToken: "x".repeat(1_025) })),
    ).toMatchObject({
      reason: "FIELD_INVALID",
      fields: ["kind", "page_size", "page_token"],
    });
    expect(await failureOf(api.owners.listOwners({}))).toMatchObject({ fields: ["kind"] });
  });
});
