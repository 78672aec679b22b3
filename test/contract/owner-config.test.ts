import { Code } from "@connectrpc/connect";
import { Kind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract, newEntry, stream } from "./support/contract.js";
import { failureOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";
import { watch } from "./support/watcher.js";

const allKinds = [Kind.EPISODIC, Kind.SEMANTIC, Kind.WORKING];

contract("Attach and Detach", (api) => {
  it("store a config, which Describe shows, and remove it", async () => {
    const owner = api.owner();
    const config = {
      allowedKinds: [Kind.SEMANTIC],
      maxEpisodicBytes: 5_000n,
      maxSemanticBytes: 9_007_199_254_740_991n,
    };
    expect(await api.owners.attach({ owner, config })).toMatchObject({ config, changed: true });
    expect(await api.owners.describe({ owner })).toMatchObject({ exists: true, attached: true, config });
    expect(await api.owners.detach({ owner })).toMatchObject({ found: true });
    expect(await api.owners.detach({ owner })).toMatchObject({ found: false });
    expect(await api.owners.describe({ owner })).toMatchObject({ attached: false, config: { allowedKinds: allKinds } });
    expect(await api.owners.detach({ owner: api.owner() })).toMatchObject({ found: false });
  });

  it("take the service's defaults where no config is sent; no kinds mean all", async () => {
    const owner = api.owner();
    const { config, changed } = await api.owners.attach({ owner });
    expect(changed).toBe(true);
    expect(config).toMatchObject({ maxEpisodicBytes: 0n, maxSemanticBytes: 0n });
    for (const same of [{}, { allowedKinds: [] }, { allowedKinds: allKinds.toReversed() }]) {
      expect(await api.owners.attach({ owner, config: same })).toMatchObject({ changed: false });
    }
    expect(await api.owners.describe({ owner })).toMatchObject({ attached: true });
  });

  it("change nothing when the config is the same, and another one only when told to", async () => {
    const owner = api.owner();
    const config = { allowedKinds: [Kind.SEMANTIC, Kind.EPISODIC] };
    const other = { allowedKinds: [Kind.SEMANTIC], maxSemanticBytes: 10n };
    await api.owners.attach({ owner, config });
    for (const allowedKinds of [config.allowedKinds, config.allowedKinds.toReversed()]) {
      for (const replace of [false, true]) {
        expect(await api.owners.attach({ owner, config: { allowedKinds }, replace })).toMatchObject({ changed: false });
      }
    }
    expect(await failureOf(api.owners.attach({ owner, config: other }))).toMatchObject({
      code: Code.AlreadyExists,
      reason: "CONFIG_EXISTS",
    });
    expect((await api.owners.describe({ owner })).config?.allowedKinds).toHaveLength(2);
    expect(await api.owners.attach({ owner, config: other, replace: true })).toMatchObject({
      config: other,
      changed: true,
    });
  });

  it.each([
    ["repeated kinds", { allowedKinds: [Kind.WORKING, Kind.WORKING] }, "config.allowed_kinds"],
    ["four kinds", { allowedKinds: [1, 2, 3, 1] }, "config.allowed_kinds"],
    ["no kind", { allowedKinds: [Kind.UNSPECIFIED] }, "config.allowed_kinds[0]"],
    ["a negative cap", { maxEpisodicBytes: -1n }, "config.max_episodic_bytes"],
    ["a cap beyond 2^53", { maxSemanticBytes: 9_007_199_254_740_992n }, "config.max_semantic_bytes"],
  ])("refuse a config with %s", async (_, config, field) => {
    const owner = api.owner();
    const failure = await failureOf(api.owners.attach({ owner, config }));
    expect(failure).toMatchObject({ code: Code.InvalidArgument, reason: "FIELD_INVALID" });
    expect(failure.fields).toContain(field);
    expect((await api.owners.describe({ owner })).exists).toBe(false);
  });

  it("say which kinds may be stored", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner, config: { allowedKinds: [Kind.SEMANTIC, Kind.WORKING] } });
    expect(await failureOf(api.remember(owner, { kind: Kind.EPISODIC }))).toMatchObject({
      code: Code.FailedPrecondition,
      reason: "KIND_NOT_ALLOWED",
      metadata: { kind: "episodic", allowed: "semantic,working" },
    });
    await api.remember(owner, { kind: Kind.WORKING });
    await api.owners.detach({ owner });
    await api.remember(owner, { kind: Kind.EPISODIC });
  });

  it("hide kinds that aren't allowed from every reading but the export", async () => {
    const owner = api.owner();
    for (const kind of allKinds) await api.remember(owner, { id: `k${kind}`, text: `k${kind}`, kind });
    await api.owners.attach({ owner, config: { allowedKinds: [Kind.SEMANTIC] } });
    const list = async (kinds: Kind[]) => (await api.memory.listEntries({ owner, kinds })).entries.map(({ id }) => id);
    for (const [kinds, expected] of [
      [[], ["k2"]],
      [[Kind.SEMANTIC, Kind.WORKING], ["k2"]],
      [[Kind.WORKING], []],
      [[Kind.EPISODIC, Kind.WORKING], []],
    ] as const) {
      expect((await recall(api, owner, { kinds: [...kinds] })).texts).toEqual(expected);
      expect(await list([...kinds])).toEqual(expected);
      const watcher = watch(api, owner, { kinds: [...kinds], afterSeq: 0n });
      expect((await watcher.next()).changes).toEqual(expected.length === 0 ? undefined : ["+k2"]);
      watcher.cancel();
    }
    const { preview } = await api.owners.describe({ owner, preview: true });
    expect(
      preview
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line).id),
    ).toEqual(["k2"]);
    await api.owners.detach({ owner });
    expect(await list([])).toHaveLength(3);
  });
});

contract("Caps", (api) => {
  const kilobyte = (id: string, kind = Kind.EPISODIC) => newEntry({ id, kind, text: id.padEnd(900, "x") });

  it("drop about the oldest half, keep the newest, and say how many went", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner, config: { maxEpisodicBytes: 10_000n } });
    let dropped = 0n;
    for (let n = 0; n < 30; n++) {
      const { droppedByCaps } = await api.memory.remember({ owner, entry: kilobyte(`e${n}`) });
      dropped += droppedByCaps;
      const { entries } = await api.memory.listEntries({ owner, pageSize: 1 });
      expect(entries[0]?.id).toBe(`e${n}`);
    }
    expect(dropped).toBeGreaterThan(10n);
    const { entries } = await api.memory.listEntries({ owner });
    expect(BigInt(entries.length)).toBe(30n - dropped);
    expect(entries.map((entry) => entry.id)).toEqual(entries.map((_, n) => `e${29 - n}`));
    const described = await api.owners.describe({ owner });
    expect(described.droppedByCaps).toBe(dropped);
    expect(described.liveBytes).toBeLessThanOrEqual(10_000n);
    expect(described.watchFloorSeq).toBeGreaterThan(0n);
  });

  it("never drop working memories", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner, config: { maxEpisodicBytes: 1_500n, maxSemanticBytes: 1_500n } });
    const entries = [0, 1, 2].flatMap((n) =>
      [Kind.EPISODIC, Kind.SEMANTIC, Kind.WORKING].map((kind) => kilobyte(`${kind}-${n}`, kind)),
    );
    const answer = await api.memory.rememberMany(stream({ owner, entries }));
    expect(answer).toMatchObject({ stored: 9n, droppedByCaps: 4n });
    const { items } = await api.owners.describe({ owner });
    expect(items.map(({ kind, entries }) => [kind, entries])).toEqual([
      [Kind.EPISODIC, 1n],
      [Kind.SEMANTIC, 1n],
      [Kind.WORKING, 3n],
    ]);
  });

  it("keep one entry that is larger than the cap", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner, config: { maxSemanticBytes: 100n } });
    for (const id of ["a", "b"]) await api.remember(owner, kilobyte(id, Kind.SEMANTIC));
    expect((await api.memory.listEntries({ owner })).entries.map((entry) => entry.id)).toEqual(["b"]);
  });

  it("leave the ids of what they drop free", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner, config: { maxEpisodicBytes: 1_500n } });
    for (const id of ["a", "b", "a"]) {
      expect(await api.memory.remember({ owner, entry: kilobyte(id) })).toMatchObject({ alreadyStored: false });
    }
  });

  it("expire the cursors of watches that missed what went", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner, config: { maxEpisodicBytes: 1_500n } });
    const { seq } = await api.remember(owner, kilobyte("a"));
    await api.remember(owner, kilobyte("b"));
    expect(await failureOf(watch(api, owner, { afterSeq: seq }).next())).toMatchObject({
      reason: "WATCH_CURSOR_EXPIRED",
    });
  });

  it("count what an import drops", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner, config: { maxEpisodicBytes: 1_500n } });
    const lines = ["a", "b", "c"].map((id) => JSON.stringify({ id, kind: "episodic", text: "x".repeat(900), ts: 1 }));
    const answer = await api.memory.importOwner(stream({ owner, lines: Buffer.from(lines.join("\n")) }));
    expect(answer).toMatchObject({ stored: 3n, droppedByCaps: 2n });
  });
});
