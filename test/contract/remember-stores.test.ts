import { Code } from "@connectrpc/connect";
import { Kind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract } from "./support/contract.js";
import { failureOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";

const MIB = 1_048_576;

contract("Remember stores", (api) => {
  it("what was sent, and says at which seq", async () => {
    const owner = api.owner();
    const entry = { kind: Kind.SEMANTIC, text: "blue", id: "a", tsMs: 1_700_000_000_123n, metaJson: '{"a":1}' };
    const answer = await api.memory.remember({ owner, entry });
    expect(answer).toMatchObject({ entry, alreadyStored: false, droppedByCaps: 0n });
    expect(answer.seq).toBeGreaterThan(0n);
    expect(answer.entry).toMatchObject({ seq: answer.seq, textTruncated: false, metaOmitted: false });
    expect((await api.memory.getEntry({ owner, id: "a" })).entry).toEqual(answer.entry);
  });

  it("under an id that it makes, and at the present time, where none is sent", async () => {
    const owner = api.owner();
    const before = Date.now();
    const [first, second] = [await api.remember(owner), await api.remember(owner)];
    const after = Date.now();
    expect(first.id).toMatch(/^[0-9a-z]{8,}-[a-z0-9]{6}$/);
    const madeAt = Number.parseInt(first.id.split("-")[0] ?? "", 36);
    for (const time of [Number(first.tsMs), madeAt]) {
      expect(time).toBeGreaterThanOrEqual(before);
      expect(time).toBeLessThanOrEqual(after);
    }
    expect(second.id).not.toBe(first.id);
    expect(second.seq).toBeGreaterThan(first.seq);
  });

  it.each([
    ["NUL", "a\0b"],
    ["a lone NUL", "\0"],
    ["line separators", "a\u2028b\u2029c"],
    ["CR, LF and both", "a\rb\nc\r\nd"],
    ["a newline alone", "\n"],
    ["a byte order mark first", "\ufeffa"],
    ["an emoji sequence at the edge", "family 👩‍👩‍👧‍👦"],
    ["a character outside the BMP first", "𝒳 marks"],
    ["white space around", " \t a \u3000"],
    ["decomposed accents", "cafe\u0301"],
    ["quotes and backslashes", '\\"\\u0041\\'],
    ["what looks like a line of the log", '","seq":1,"crc":2}\n{"id":"x"'],
    ["DEL and C1 controls", "\u007f\u0080\u009f"],
    ["non-characters", "\ufffe\uffff\u{1fffe}"],
  ])("%s verbatim", async (_, text) => {
    const owner = api.owner();
    const stored = await api.remember(owner, { text, id: "a" });
    expect(stored.text).toBe(text);
    expect((await api.memory.getEntry({ owner, id: "a" })).entry?.text).toBe(text);
    expect((await api.memory.listEntries({ owner })).entries[0]?.text).toBe(text);
    expect((await recall(api, owner)).texts).toEqual([text]);
  });

  it.each([
    ["ASCII", "a".repeat(MIB)],
    ["Chinese", `${"记".repeat(349_525)}a`],
    ["an emoji at the very end", `${"a".repeat(MIB - 4)}🎉`],
  ])("1 MiB of %s", async (_, text) => {
    expect(Buffer.byteLength(text)).toBe(MIB);
    const owner = api.owner();
    await api.remember(owner, { text, id: "a" });
    expect((await api.memory.getEntry({ owner, id: "a" })).entry?.text === text).toBe(true);
    expect((await recall(api, owner)).texts[0] === text).toBe(true);
  });

  it.each([
    ["empty", "", 0],
    ["1 MiB and a byte", "a".repeat(MIB + 1), MIB + 1],
    ["1 MiB and a byte in fewer characters", `${"a".repeat(MIB - 3)}🎉`, MIB + 1],
  ])("no text of %s", async (_, text, size) => {
    const owner = api.owner();
    expect(await failureOf(api.remember(owner, { text }))).toMatchObject({
      code: Code.InvalidArgument,
      reason: "TEXT_INVALID",
      metadata: { limit: String(MIB), size: String(size) },
    });
    expect((await api.owners.describe({ owner })).exists).toBe(false);
  });

  it("half a surrogate pair never: it is refused, unless the client made it U+FFFD before", async () => {
    const owner = api.owner();
    // Binary encoders replace it; JSON carries it as an escape.
    const stored = await api.remember(owner, { text: "a\ud800b" }).catch(() => undefined);
    expect(stored?.text ?? "").toBe(api.transport.name === "connect-json" ? "" : "a\ufffdb");
    expect((await recall(api, owner)).texts).toEqual(stored === undefined ? [] : ["a\ufffdb"]);
  });

  it("times from 1 to the last that a date can hold, no others", async () => {
    const owner = api.owner();
    for (const tsMs of [1n, 8_640_000_000_000_000n]) expect((await api.remember(owner, { tsMs })).tsMs).toBe(tsMs);
    for (const tsMs of [-1n, 8_640_000_000_000_001n]) {
      const failure = await failureOf(api.remember(owner, { tsMs }));
      expect(failure).toMatchObject({ code: Code.InvalidArgument, reason: "FIELD_INVALID", fields: ["entry.ts_ms"] });
    }
  });

  it.each([Kind.UNSPECIFIED, 4 as Kind])("no entry of kind %i", async (kind) => {
    expect(await failureOf(api.remember(api.owner(), { kind }))).toMatchObject({
      code: Code.InvalidArgument,
      reason: "FIELD_INVALID",
      fields: ["entry.kind"],
    });
  });

  it.each([
    ["128 bytes", "i".repeat(128)],
    ["128 bytes of two-byte letters", "é".repeat(64)],
    ["a path", "../../x"],
    ["a prototype's name", "__proto__"],
    ["a space", " "],
    ["decomposed letters", "e\u0301"],
    ["a direction override", "a\u202eb"],
    ["quotes", '"\\"'],
  ])("an entry whose id is %s", async (_, id) => {
    const owner = api.owner();
    expect((await api.remember(owner, { id })).id).toBe(id);
    expect((await api.memory.getEntry({ owner, id })).entry?.id).toBe(id);
    expect(await api.memory.forget({ owner, id })).toMatchObject({ found: true, copies: 1 });
  });

  it.each([
    ["129 bytes", "i".repeat(129), "size"],
    ["129 bytes in fewer characters", `${"é".repeat(64)}a`, "size"],
    ["a newline", "a\nb", "control"],
    ["NUL", "a\0", "control"],
    ["DEL", "\u007f", "control"],
    ["a C1 control", "\u0085", "control"],
  ])("no entry whose id holds %s", async (_, id, rule) => {
    expect(await failureOf(api.remember(api.owner(), { id }))).toMatchObject({
      code: Code.InvalidArgument,
      reason: "ENTRY_ID_INVALID",
      metadata: { rule },
    });
  });
});
