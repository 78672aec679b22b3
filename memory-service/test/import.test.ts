import { mkdir, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { MemoryContext } from "../src/domain/context.js";
import { importOwner } from "../src/domain/import-owner.js";
import { exportOwner, getEntry, listEntries } from "../src/domain/read.js";
import { remember } from "../src/domain/remember.js";
import type { OwnerRef, StoredEntry } from "../src/store/store.js";
import { draft, never, owner, tempMemory } from "./temp-memory.js";

const bob: OwnerRef = { kind: "user", id: "bob" };

async function* chunks(text: string | Buffer, size = 1_000_000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function exported(memory: MemoryContext, from: OwnerRef): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of exportOwner(memory, from, [], never)) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}

async function entries(memory: MemoryContext, of: OwnerRef): Promise<Partial<StoredEntry>[]> {
  const page = await listEntries(memory, of, { kinds: [], order: "oldest", pageSize: 500, pageToken: "", minSeq: 0 });
  return page.entries.map(({ id, kind, text, ts, meta }) => ({ id, kind, text, ts, meta }));
}

describe("import", () => {
  it("takes back what export gave, wherever the chunks end", async () => {
    const memory = await tempMemory();
    for (let i = 0; i < 50; i++) {
      const meta = i % 2 === 0 ? "" : '{"n":9007199254740993,"s":"\\ud800"}';
      const kind = (["episodic", "semantic", "working"] as const)[i % 3];
      await remember(memory, owner, draft(`e${i}`, `日本\u2028${i}`, { kind, meta, ts: 1_000 - i }));
    }
    const lines = await exported(memory, owner);
    for (const size of [7, 4_096]) {
      const result = await importOwner(memory, bob, chunks(lines, size));
      expect(result).toMatchObject({ stored: size === 7 ? 50 : 0, already: size === 7 ? 0 : 50, refused: [] });
    }
    expect(await entries(memory, bob)).toEqual(await entries(memory, owner));
  });

  it("takes a foreign file: byte order mark, CRLF, blank and control lines, no newline at the end", async () => {
    const memory = await tempMemory();
    const text = [
      '\ufeff{"id":"a","kind":"working","text":"one","ts":1}\r',
      "",
      "  ",
      '{"head":{"seq":900,"floor":1},"crc":1}',
      '{"forget":"a","hash":"0011223344556677","seq":3,"crc":1}',
      '{"kind":"semantic","text":"two","seq":77,"ord":5,"late":true,"crc":12}',
    ].join("\n");
    const result = await importOwner(memory, owner, chunks(text, 11));
    expect(result).toMatchObject({ stored: 2, skippedLines: 4, refused: [], stopped: false });
    expect((await getEntry(memory, owner, "a", 0)).entry.text).toBe("one");
    expect(result.lastSeq - result.firstSeq).toBe(1);
    expect(result.lastSeq).toBeLessThan(900);
  });

  it("refuses lines one by one, by their number", async () => {
    const memory = await tempMemory();
    const text = [
      '{"id":"a","kind":"working","text":"one"}',
      '{"id":"b","text":"no kind"}',
      "not json",
      '{"id":"a","kind":"working","text":"other"}',
      `{"id":"c","kind":"working","text":"${"x".repeat(1_048_577)}"}`,
      '{"id":"d","kind":"working","text":"t","meta":{"a":1,"a":2}}',
      '{"id":"e","kind":"working","text":"t","meta":"text"}',
      String.raw`{"id":"f","kind":"working","text":"\ud800"}`,
      '{"id":"g","kind":"working","text":"last"}',
    ].join("\n");
    const { refused, ...result } = await importOwner(memory, owner, chunks(text));
    expect(result).toMatchObject({ stored: 2, already: 0 });
    expect(refused.map(({ index, id, reason }) => `${index} ${id} ${reason}`)).toEqual([
      "1 b FIELD_INVALID",
      "2  FIELD_INVALID",
      "3 a ENTRY_EXISTS",
      "4 c TEXT_INVALID",
      "5 d META_INVALID",
      "6 e META_INVALID",
      "7 f TEXT_INVALID",
    ]);
  });

  it("refuses a line over 16 MiB and goes on", async () => {
    const memory = await tempMemory();
    async function* long(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < 20; i++) yield Buffer.alloc(1_048_576, 0x78);
      yield Buffer.from('\n{"id":"a","kind":"working","text":"after"}\n');
    }
    const { stored, refused } = await importOwner(memory, owner, long());
    expect([stored, refused.map((item) => item.index)]).toEqual([1, [0]]);
  });

  it("stops after 1,000 refusals", async () => {
    const memory = await tempMemory();
    const result = await importOwner(memory, owner, chunks("x\n".repeat(5_000)));
    expect([result.stopped, result.refused.length, result.refused.at(-1)?.index]).toEqual([true, 1_000, 999]);
  });

  it("takes the file of an older writer as it lies on disk", async () => {
    const memory = await tempMemory();
    const directory = `${memory.root}/agent/old`;
    await mkdir(directory, { recursive: true });
    const lines = [
      '{"id":"1","kind":"episodic","text":"a","ts":5}',
      '{"id":"2","kind":"episodic","text":"b","ts":6,"meta":{"x":1}}',
    ];
    await writeFile(`${directory}/episodic.jsonl`, `${lines.join("\n")}\n`);
    const old: OwnerRef = { kind: "agent", id: "old" };
    await importOwner(memory, bob, chunks(await exported(memory, old)));
    expect(await entries(memory, bob)).toEqual(await entries(memory, old));
    expect((await entries(memory, bob)).length).toBe(2);
  });
});
