import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";
import { KINDS, type StoredEntry } from "../../../src/store/store.js";
import { agent, entry, listAll } from "../support.js";
import { history, lively } from "./commands.js";
import type { Invariant } from "./holds.js";
import { erasesNothing } from "./sabotage.js";
import { type Sabotage, World } from "./world.js";

type Property = ReturnType<Invariant>;

const quiet = { compactMinBytes: Number.MAX_SAFE_INTEGER };
const logPath = (world: World, name: string): string => join(world.root, agent.kind, agent.id, name);

/** Runs with a world that is removed afterwards. */
async function within(world: World, run: (world: World) => Promise<void>): Promise<void> {
  await world.open();
  try {
    await run(world);
  } finally {
    await world.end();
  }
}

const tail = fc.oneof(
  fc.constant("\0".repeat(50)),
  fc.constant('{"id":"half","kind":"episodic","text":"ha'),
  fc.constant('{"id":"a","kind":"episodic","text":"plain","ts":1,"seq":99,"crc":1'),
  fc.string({ minLength: 1, maxLength: 60 }).map((text) => `~${text.replaceAll("\n", " ")}`),
);

export const tornTailCostsNothing: Invariant = (sabotage?: Sabotage) =>
  fc.asyncProperty(lively, tail, async (commands, torn) => {
    await within(new World(sabotage, quiet), async (world) => {
      for (const command of commands) await world.perform(command);
      await world.store.close();
      for (const name of Object.keys(world.logs())) appendFileSync(logPath(world, name), torn);
      await world.open();
      expect(await listAll(world.store)).toEqual(world.sorted());
      await world.perform({ do: "append", entries: [entry("after", "later")] });
      await world.reopen();
      expect(await listAll(world.store)).toEqual(world.sorted());
    });
  }) as Property;

export const alteredLineIsKeptAside: Invariant = (sabotage?: Sabotage) =>
  fc.asyncProperty(lively, fc.nat(), fc.nat(), fc.nat(7), async (commands, which, where, bit) => {
    await within(new World(sabotage, quiet), async (world) => {
      for (const command of commands) await world.perform(command);
      await world.store.close();
      const before = world.sorted();
      const victim = before[which % Math.max(1, before.length)];
      if (victim === undefined) return world.open();
      const path = logPath(world, `${victim.kind}.jsonl`);
      const bytes = readFileSync(path);
      const at = bytes.lastIndexOf(`{"id":"${victim.id}","kind"`);
      const length = bytes.indexOf("\n", at) - at;
      const byte = at + (where % length);
      bytes[byte] ^= 1 << bit;
      // Two lines would be another damage.
      if (bytes[byte] === 0x0a) bytes[byte] = 0x0b;
      const altered = Buffer.from(bytes.subarray(at, at + length));
      writeFileSync(path, bytes);
      await world.open();
      expect(await listAll(world.store)).toEqual(before.filter(({ id }) => id !== victim.id));
      expect((await world.store.describe(agent, { minSeq: 0 })).corruptLines).toBe(1);
      await world.store.append(agent, [entry("after", "later")]);
      await world.reopen();
      expect(readFileSync(path).includes(altered)).toBe(true);
    });
  }) as Property;

export const rangeErasesItsEntryOnly: Invariant = (sabotage?: Sabotage) =>
  fc.asyncProperty(lively, fc.option(fc.nat()), async (commands, moveAt) => {
    // As a crash between append and erase leaves it.
    const life = new World(erasesNothing, quiet);
    await within(life, async (world) => {
      for (const command of commands) await world.perform(command);
      await world.store.close();
      const named = new Set<string>();
      const kept: string[] = [];
      for (const [name, text] of Object.entries(world.logs())) {
        const lines = text.split("\n");
        if (moveAt !== null) lines.splice(moveAt % lines.length, 0, '{"foreign":"line"}');
        writeFileSync(logPath(world, name), lines.join("\n"), "latin1");
        for (const line of lines.filter((one) => one.includes('"was":'))) {
          const { id, forget } = JSON.parse(line) as { id?: string; forget?: string };
          named.add(forget ?? id ?? "");
        }
        for (const line of lines.filter((one) => one.startsWith('{"id":'))) kept.push(line);
      }
      const expected = kept.map((line) => (JSON.parse(line) as { id: string }).id).filter((id) => !named.has(id));
      const after = new World(sabotage, { ...quiet, root: world.root });
      await after.open();
      const found = (await listAll(after.store)).map(({ id }) => id);
      await after.store.close();
      await world.open();
      expect(found).toEqual(expect.arrayContaining(expected));
      expect((await listAll(world.store)).map(({ id }) => id)).toEqual(expect.arrayContaining(expected));
    });
  }) as Property;

export const capsDropOldest: Invariant = (sabotage?: Sabotage) =>
  fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 20 }), async (sizes) => {
    const defaults = { allowedKinds: KINDS, maxEpisodicBytes: 2000, maxSemanticBytes: 0 };
    await within(new World(sabotage, { defaults }), async ({ store }) => {
      const stored: StoredEntry[] = [];
      let dropped = 0;
      for (const [i, size] of sizes.entries()) {
        const result = await store.append(agent, [entry(`e${i}`, "x".repeat(size), { ts: 1000 - i })]);
        dropped += result.droppedByCaps;
        for (const one of result.outcomes) if (one.status === "stored") stored.push(one.entry);
        const live = (await listAll(store)).map(({ id }) => id).sort();
        const newest = stored.slice(dropped).map(({ id }) => id);
        expect(live).toEqual(newest.sort());
        expect(live).toContain(`e${i}`);
        const { kinds, droppedByCaps } = await store.describe(agent, { minSeq: 0 });
        expect(droppedByCaps).toBe(dropped);
        if (live.length > 1) expect(kinds[0].liveBytes).toBeLessThanOrEqual(2000);
      }
    });
  }) as Property;

export const copyingChangesNothing: Invariant = (sabotage?: Sabotage) =>
  fc.asyncProperty(history, async (commands) => {
    await within(new World(sabotage, { compactMinBytes: 1 }), (copying) =>
      within(new World({}, quiet), async (still) => {
        for (const command of commands) {
          const [one, other] = [await copying.perform(command), await still.perform(command)];
          expect(one.outcome).toEqual(other.outcome);
          // What runs beside the writes ends with the store.
          await copying.reopen();
          expect(await listAll(copying.store)).toEqual(await listAll(still.store));
        }
      }),
    );
  }) as Property;

const legacyEntry = fc.record({
  text: fc.constantFrom("old", "älter", "x".repeat(80)),
  ts: fc.integer({ min: 1000, max: 1002 }),
  spaced: fc.boolean(),
});

export const legacyLinesStay: Invariant = (sabotage?: Sabotage) =>
  fc.asyncProperty(fc.array(legacyEntry, { minLength: 1, maxLength: 8 }), lively, async (old, commands) => {
    const world = new World(sabotage, { compactMinBytes: 1 });
    const directory = join(world.root, agent.kind, agent.id);
    mkdirSync(directory, { recursive: true });
    const lines = old.map(({ text, ts, spaced }, i) =>
      JSON.stringify({ extra: i, id: `old-${i}`, kind: "episodic", text, ts }, undefined, spaced ? " " : "").replaceAll(
        "\n",
        "",
      ),
    );
    writeFileSync(join(directory, "episodic.jsonl"), lines.map((line) => `${line}\n`).join(""));
    const expected = old.map(({ ts }, i) => ({ id: `old-${i}`, ts, i })).sort((a, b) => a.ts - b.ts || a.i - b.i);
    await within(world, async () => {
      for (const command of [...commands, { do: "reopen" as const }]) {
        if (command.do !== "forget") await world.perform(command);
        else await world.store.forget(agent, command.id).then(() => world.reopen());
        world.live = (await listAll(world.store)).map((one) => ({ ...one, first: one.meta }));
        const shown = (await listAll(world.store, { order: "oldest" })).filter(({ id }) => id.startsWith("old-"));
        expect(shown.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
        for (const { id, text } of shown) expect(text).toBe(old[Number(id.slice(4))].text);
      }
      await world.store.close();
      const kept = readFileSync(join(directory, "episodic.jsonl"), "utf8")
        .split("\n")
        .filter((line) => line.includes('"extra"'));
      expect(kept.map((line) => (JSON.parse(line) as { extra: number }).extra).sort()).toEqual(old.map((_, i) => i));
      await world.open();
    });
  }) as Property;

export const trashKeepsAll: Invariant = (sabotage?: Sabotage) =>
  fc.asyncProperty(lively, fc.string(), lively, async (commands, note, meanwhile) => {
    await within(new World(sabotage), async (world) => {
      const other = { kind: "agent" as const, id: "other" };
      for (const command of commands) await world.perform(command);
      await world.store.append(other, [entry("o", "of another")]);
      mkdirSync(join(world.root, "agent", "x"), { recursive: true });
      writeFileSync(logPath(world, "note.txt"), note);
      const before = world.sorted();
      const { ref, moved } = await world.store.softDelete(agent, "");
      expect(moved).toBe(true);
      expect(await listAll(world.store)).toEqual([]);
      await world.reopen();
      for (const command of meanwhile) if (command.do === "forget") await world.store.forget(other, command.id);
      await expect(world.store.restore(other, ref.refId)).rejects.toMatchObject({ reason: "TRASH_NOT_FOUND" });
      await expect(world.store.hardDelete(other, ref.refId)).rejects.toMatchObject({ reason: "TRASH_NOT_FOUND" });
      await world.store.restore(agent, ref.refId);
      expect(await listAll(world.store)).toEqual(before);
      expect(readFileSync(logPath(world, "note.txt"), "utf8")).toBe(note);
      expect((await listAll(world.store, {}, other)).map(({ id }) => id)).toEqual(["o"]);
    });
  }) as Property;

const ownerId = fc.constantFrom(
  "a",
  "b",
  "ä",
  "con",
  "with space",
  "日本",
  "a.b",
  "..",
  "../x",
  "a/b",
  ".hidden",
  "",
  "a\\b",
  "A",
);

export const ownersStayApart: Invariant = (sabotage?: Sabotage) =>
  fc.asyncProperty(fc.array(fc.tuple(ownerId, fc.boolean()), { minLength: 1, maxLength: 20 }), async (steps) => {
    const parent = mkdtempSync(join(tmpdir(), "reverie-owners-"));
    const world = new World(sabotage, { root: join(parent, "data") });
    await world.open();
    try {
      const expected = new Map<string, string[]>();
      for (const [i, [id, forgets]] of steps.entries()) {
        const owner = { kind: "user" as const, id };
        const has = expected.get(id) ?? [];
        try {
          if (forgets && has.length > 0) await world.store.forget(owner, has.shift() ?? "");
          else {
            await world.store.append(owner, [entry(`e${i}`, "text")]);
            has.push(`e${i}`);
          }
          expected.set(id, has);
        } catch (error) {
          expect((error as { reason?: string }).reason).toMatch(/^OWNER_/);
        }
        for (const [one, ids] of expected)
          expect(
            (await listAll(world.store, { order: "oldest" }, { kind: "user", id: one })).map(({ id }) => id),
          ).toEqual(ids);
      }
      expect(readdirSync(parent)).toEqual(["data"]);
      expect(readdirSync(join(parent, "data", "user")).sort()).toEqual([...expected.keys()].sort());
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    } finally {
      await world.store.close();
      rmSync(parent, { recursive: true, force: true });
    }
  }) as Property;
