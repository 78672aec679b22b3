import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { Kind, OwnerKind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { collect, contract } from "./support/contract.js";
import { failureOf, failuresOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";
import { watch } from "./support/watcher.js";

const MIB = 1_048_576;
const jsonl = (...lines: object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

contract("Entries older than Reverie", (api) => {
  it("are read where they are, oldest first written, with seq 0", async () => {
    const owner = api.owner();
    const lines = jsonl(
      { id: "a", kind: "episodic", text: "first", ts: 5, meta: { n: 1 } },
      { id: "b", kind: "episodic", text: "second", ts: 5 },
    );
    await api.server.plant(`agent/${owner.id}`, "episodic.jsonl", lines);
    const fresh = await api.remember(owner, { id: "c", tsMs: 5n });
    expect(fresh.seq).toBeGreaterThan(0n);
    const { entries } = await recall(api, owner);
    expect(entries.map(({ id, seq, metaJson }) => [id, seq, metaJson])).toEqual([
      ["c", fresh.seq, ""],
      ["b", 0n, ""],
      ["a", 0n, '{"n":1}'],
    ]);
    const watcher = watch(api, owner, { afterSeq: 0n });
    expect(await watcher.until("+c")).toEqual(["+a", "+b", "+c"]);
    const same = { id: "b", kind: Kind.EPISODIC, text: "second", tsMs: 5n };
    expect(await api.memory.remember({ owner, entry: same })).toMatchObject({ alreadyStored: true });
  });

  it("that share an id are all served, and forgotten and patched together", async () => {
    const owner = api.owner();
    const twice = (text: string, ts: number, kind = "episodic") => ({ id: "a", kind, text, ts });
    await api.server.plant(`agent/${owner.id}`, "episodic.jsonl", jsonl(twice("one", 1), twice("two", 2)));
    await api.server.plant(`agent/${owner.id}`, "semantic.jsonl", jsonl(twice("three", 3, "semantic")));
    expect((await recall(api, owner)).texts).toEqual(["three", "two", "one"]);
    expect(await api.memory.getEntry({ owner, id: "a" })).toMatchObject({ copies: 3, entry: { text: "three" } });
    const patched = await api.memory.patchMeta({ owner, id: "a", patchJson: '{"p":1}' });
    expect(patched).toMatchObject({ found: true, copies: 3, entry: { text: "three", metaJson: '{"p":1}' } });
    expect((await recall(api, owner)).entries.map(({ text, metaJson }) => [text, metaJson])).toEqual([
      ["three", '{"p":1}'],
      ["two", '{"p":1}'],
      ["one", '{"p":1}'],
    ]);
    expect(await failureOf(api.remember(owner, { id: "a", text: "four" }))).toMatchObject({ reason: "ENTRY_EXISTS" });
    expect(await api.memory.forget({ owner, id: "a" })).toMatchObject({ found: true, copies: 3 });
    expect((await recall(api, owner)).texts).toEqual([]);
    expect(await failureOf(api.remember(owner, { id: "a", text: "one" }))).toMatchObject({ reason: "ENTRY_FORGOTTEN" });
  });

  it("that have no id are found, patched and forgotten under the empty one", async () => {
    const owner = api.owner();
    const lines = jsonl(
      { id: "", kind: "episodic", text: "one", ts: 1 },
      { id: "b", kind: "episodic", text: "b", ts: 2 },
    );
    await api.server.plant(`agent/${owner.id}`, "episodic.jsonl", lines);
    expect(await api.memory.getEntry({ owner })).toMatchObject({ copies: 1, entry: { id: "", text: "one" } });
    expect(await api.memory.patchMeta({ owner, patchJson: '{"p":1}' })).toMatchObject({
      found: true,
      entry: { id: "", metaJson: '{"p":1}' },
    });
    expect(await api.memory.forget({ owner })).toMatchObject({ found: true, copies: 1 });
    expect((await recall(api, owner)).texts).toEqual(["b"]);
    expect(await failureOf(api.memory.getEntry({ owner }))).toMatchObject({ reason: "ENTRY_NOT_FOUND" });
  });

  it("beyond today's limits are cut for reading, and whole in the export", async () => {
    const owner = api.owner();
    const id = "i".repeat(3_000);
    const text = "é".repeat(MIB);
    const meta = { m: "x".repeat(70_000) };
    await api.server.plant(`agent/${owner.id}`, "working.jsonl", jsonl({ id, kind: "working", text, ts: 1, meta }));
    const { entry } = await api.memory.getEntry({ owner, id });
    expect(entry).toMatchObject({ id, metaJson: "", textTruncated: true, metaOmitted: true });
    expect(entry?.text === "é".repeat(MIB / 2)).toBe(true);
    const chunks = (await collect(api.memory.exportOwner({ owner }))).flatMap(({ event }) =>
      event.case === "lines" ? [event.value] : [],
    );
    expect(chunks.length).toBeGreaterThan(1);
    const line = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    expect([line.text === text, line.meta.m === meta.m]).toEqual([true, true]);
    expect(await api.memory.forget({ owner, id })).toMatchObject({ found: true });
  });

  it("belong to owners with names that no new owner may have", async () => {
    const owner = { kind: OwnerKind.AGENT, id: `.old\n${api.transport.name}` };
    await api.server.plant(
      `agent/${owner.id}`,
      "semantic.jsonl",
      jsonl({ id: "a", kind: "semantic", text: "old", ts: 1 }),
    );
    expect((await recall(api, owner)).texts).toEqual(["old"]);
    await api.remember(owner, { id: "b", text: "new" });
    expect((await recall(api, owner)).texts).toEqual(["new", "old"]);
  });
});

contract("Damaged files", (api) => {
  it("cost the damaged lines only, and say so", async () => {
    const owner = api.owner();
    const good = { id: "a", kind: "episodic", text: "good", ts: 1 };
    const stale = '{"id":"x","kind":"episodic","text":"changed by hand","ts":2,"seq":1,"crc":1}\n';
    await api.server.plant(`agent/${owner.id}`, "episodic.jsonl", `${stale}{"half a line\n${jsonl(good)}{"torn`);
    expect(await recall(api, owner)).toMatchObject({ texts: ["good"], summary: { corruptLinesSkipped: 2n } });
    expect(await failureOf(api.memory.getEntry({ owner, id: "x" }))).toMatchObject({
      code: Code.DataLoss,
      reason: "ENTRY_CORRUPT",
      metadata: { id: "x" },
    });
    expect(await api.owners.describe({ owner })).toMatchObject({
      corruptLines: 2n,
      tornTails: 1n,
      items: [{ entries: 1n }],
    });
    const exported = await collect(api.memory.exportOwner({ owner }));
    expect(exported.at(-1)?.event.value).toMatchObject({ entries: 1n, corruptLinesSkipped: 2n });
    await api.remember(owner, { id: "b", text: "after" });
    expect((await recall(api, owner)).texts).toEqual(["after", "good"]);
  });

  it("that aren't files are not opened", async () => {
    const owner = api.owner();
    await api.server.plant(
      "agent/elsewhere",
      "episodic.jsonl",
      jsonl({ id: "a", kind: "episodic", text: "secret", ts: 1 }),
    );
    await symlink(join(api.server.dataDir, "agent/elsewhere"), join(api.server.dataDir, "agent", owner.id));
    const log = api.owner();
    await api.server.plant(`agent/${log.id}`, "notes.txt", "");
    await symlink("../elsewhere/episodic.jsonl", join(api.server.dataDir, "agent", log.id, "episodic.jsonl"));
    for (const each of [owner, log]) {
      const calls = [api.remember(each), recall(api, each), api.owners.describe({ owner: each })];
      for (const failure of await failuresOf(calls)) {
        expect(failure).toMatchObject({ code: Code.FailedPrecondition, reason: "OWNER_PATH_UNSAFE" });
      }
    }
  });

  it("that hold no config stop their owner, until the operator mends them", async () => {
    for (const text of ["{", '{"allowedKinds":["dreams"],"maxEpisodicBytes":0,"maxSemanticBytes":0}']) {
      const owner = api.owner();
      await api.server.plant(`agent/${owner.id}`, ".reverie.json", text);
      const calls = [api.remember(owner), recall(api, owner), api.owners.describe({ owner })];
      for (const failure of await failuresOf(calls)) {
        expect(failure).toMatchObject({ code: Code.FailedPrecondition, reason: "CONFIG_UNREADABLE" });
      }
    }
  });
});
