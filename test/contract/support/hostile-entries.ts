import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Kind, type NewEntrySchema } from "@reverie/proto/memory";
import { expect } from "vitest";
import { newEntry, stream } from "./contract.js";
import { callRaw } from "./hostile-bytes.js";
import type { HostileCase, Scene } from "./hostile-case.js";
import { jsonl } from "./transfer.js";

type Draft = MessageInitShape<typeof NewEntrySchema>;

const MIB = 1_048_576;

/** An entry that Remember refuses; RememberMany refuses it as an item, with the same reason. */
function refused(field: string, input: string, entry: Draft, reason: string, note?: string): HostileCase {
  return {
    field,
    input,
    calls: "Remember",
    answer: `INVALID_ARGUMENT ${reason}`,
    ...(note && { note }),
    act: ({ api, owner }) => [
      () => api.remember(owner, entry),
      async () => {
        const { refused } = await api.memory.rememberMany(stream({ owner, entries: [newEntry(entry)] }));
        expect(refused).toMatchObject([{ index: 0n }]);
        // As Remember would have it, so that one table is enough.
        return api.remember(owner, entry);
      },
    ],
  };
}

/** An entry that is kept as it was sent: in the answer of a read, and in the file. */
function kept(field: string, input: string, entry: Draft, note?: string): HostileCase {
  return {
    field,
    input,
    calls: "Remember, GetEntry, HardDelete",
    answer: "OK",
    ...(note && { note }),
    act: ({ api, owner }) => [
      async () => {
        const { id } = await api.remember(owner, entry);
        const { entry: found } = await api.memory.getEntry({ owner, id });
        const { text = "hello", metaJson = "" } = entry;
        expect(found?.text === text).toBe(true);
        expect(found?.metaJson).toBe(metaJson);
        if (entry.id) expect(id).toBe(entry.id);
        const log = readFileSync(join(api.server.dataDir, "agent", owner.id, "episodic.jsonl"), "utf8");
        // The owner's head may come first.
        const line = JSON.parse(log.trimEnd().split("\n").at(-1) ?? "") as { id: string; text: string };
        expect([line.id, line.text === text]).toEqual([id, true]);
        expect(log.match(/^\{"id":/gm)).toHaveLength(1);
        const { ref } = await api.trash.softDelete({ owner });
        await api.trash.hardDelete({ owner, refId: ref?.refId ?? "" });
      },
    ],
  };
}

function raw(field: string, input: string, member: "text" | "id" | "metaJson", bytes: Uint8Array): HostileCase {
  return {
    field,
    input,
    calls: "Remember",
    answer: "INVALID_ARGUMENT FIELD_INVALID",
    note: "the message can't be decoded",
    act: ({ api, owner }) => [
      () =>
        callRaw(api, {
          method: "Remember",
          message: { owner, entry: { kind: Kind.EPISODIC, text: "hello", id: "a", [member]: bytes } },
        }),
    ],
  };
}

/** Half a surrogate pair as JSON can write it. */
export function escaped(field: string, message: (scene: Scene) => object): HostileCase {
  return {
    field,
    input: "half a surrogate pair, as an escape of JSON",
    calls: "Remember",
    answer: "INVALID_ARGUMENT FIELD_INVALID",
    note: "only Connect with JSON can say it",
    jsonOnly: true,
    act: (scene) => [() => callRaw(scene.api, { method: "Remember", message: message(scene) })],
  };
}

/** A call that may be made, and does what the check says. */
function fine(field: string, input: string, calls: string, act: (scene: Scene) => Promise<unknown>, note?: string) {
  return {
    field,
    input,
    calls,
    answer: "OK",
    ...(note && { note }),
    act: (scene) => [() => act(scene)],
  } as HostileCase;
}

const texts: readonly HostileCase[] = [
  refused("Texts", "empty", { text: "" }, "TEXT_INVALID"),
  refused("Texts", "1 MiB and a byte", { text: "x".repeat(MIB + 1) }, "TEXT_INVALID"),
  refused(
    "Texts",
    "1 MiB and a byte, the last character an emoji",
    { text: `${"x".repeat(MIB - 3)}🎉` },
    "TEXT_INVALID",
  ),
  raw("Texts", "half a surrogate pair", "text", Buffer.from([0xed, 0xa0, 0xbd])),
  raw("Texts", "an emoji cut in half", "text", Buffer.from([0x61, 0xf0, 0x9f, 0x8e])),
  raw("Texts", "an overlong slash", "text", Buffer.from([0xc0, 0xaf])),
  escaped("Texts", ({ owner }) => ({ owner, entry: { kind: 1, text: "a\ud800", id: "a" } })),
  kept("Texts", "1 MiB", { text: "x".repeat(MIB) }),
  kept("Texts", "1 MiB, the last character an emoji", { text: `${"x".repeat(MIB - 4)}🎉` }),
  kept("Texts", "NUL", { text: "a\0b" }),
  kept("Texts", "U+2028 and U+2029", { text: "a\u2028b\u2029c" }),
  kept("Texts", "CR, CRLF, LF", { text: "a\rb\r\nc\n" }),
  kept("Texts", "a byte order mark", { text: "\ufeffa" }),
  kept("Texts", "newlines alone", { text: "\n\n" }),
  kept("Texts", "noncharacters and U+FFFD", { text: "\uffff\ufffe\ufffd" }),
  kept("Texts", "a line of a log", { text: '"}\n{"id":"b","kind":"episodic","text":"theirs","ts":1}\n' }),
  kept("Texts", "a tombstone", { text: '{"forget":"a","hash":"0","was":{"at":0,"len":9},"seq":1,"ts":1,"crc":0}' }),
];

const control = "ENTRY_ID_INVALID";
const ids: readonly HostileCase[] = [
  refused("Entry ids", "129 bytes", { id: "x".repeat(129) }, control),
  refused("Entry ids", "129 bytes in 43 characters", { id: "語".repeat(43) }, control),
  refused("Entry ids", "newline", { id: "a\nb" }, control),
  refused("Entry ids", "NUL", { id: "a\0" }, control),
  refused("Entry ids", "DEL, or a C1 control", { id: "a\u0085\u007f" }, control),
  raw("Entry ids", "half a surrogate pair", "id", Buffer.from([0xed, 0xb0, 0x80])),
  escaped("Entry ids", ({ owner }) => ({ owner, entry: { kind: 1, text: "a", id: "a\ud800" } })),
  kept("Entry ids", "128 bytes", { id: "x".repeat(128) }),
  kept("Entry ids", "`__proto__`", { id: "__proto__" }),
  kept("Entry ids", "`constructor`", { id: "constructor" }),
  kept("Entry ids", "`../../x`", { id: "../../x" }, "no path is made of it"),
  kept("Entry ids", "a direction override, U+2028, an emoji", { id: "\u202e\u2028🎉" }),
  fine(
    "Entry ids",
    "empty",
    "Remember",
    async ({ api, owner }) => {
      expect((await api.remember(owner, { id: "" })).id).toMatch(/^[0-9a-z]{8,}-[0-9a-z]{6}$/);
    },
    "the service makes one",
  ),
  {
    field: "Entry ids",
    input: "empty",
    calls: "GetEntry",
    answer: "NOT_FOUND ENTRY_NOT_FOUND",
    act: ({ api, owner }) => [() => api.memory.getEntry({ owner, id: "" })],
  },
  fine(
    "Entry ids",
    "empty, unknown, or `../x`",
    "Forget, PatchMeta",
    async ({ api, owner }) => {
      for (const id of ["", "unknown", "../x", "a\0b"]) {
        expect(await api.memory.forget({ owner, id })).toMatchObject({ found: false });
        expect(await api.memory.patchMeta({ owner, id, patchJson: "{}" })).toMatchObject({ found: false });
      }
    },
    "`found` is false",
  ),
  {
    field: "Entry ids",
    input: "4 KiB and a byte",
    calls: "GetEntry, Forget, PatchMeta",
    answer: "INVALID_ARGUMENT FIELD_INVALID",
    act: ({ api, owner }) => {
      const id = "x".repeat(4097);
      return [
        () => api.memory.getEntry({ owner, id }),
        () => api.memory.forget({ owner, id }),
        () => api.memory.patchMeta({ owner, id, patchJson: "{}" }),
      ];
    },
  },
  fine(
    "Entry ids",
    "one id twice in a batch",
    "RememberMany",
    async ({ api, owner }) => {
      const entries = ["one", "one", "two"].map((text) => newEntry({ id: "a", text }));
      const answer = await api.memory.rememberMany(stream({ owner, entries }));
      expect(answer).toMatchObject({ stored: 1n, alreadyStored: 1n, refused: [{ index: 2n, id: "a" }] });
    },
    "the same content is stored once; other content is a refused item, ENTRY_EXISTS",
  ),
  fine(
    "Entry ids",
    "a control character, or no string, in an imported line",
    "ImportOwner",
    async ({ api, owner }) => {
      const lines = jsonl(
        ...["a\u0001", 7, {}, "ok"].map((id) => ({ id, kind: "episodic", text: "hello" })),
        '{"__proto__":{"id":"b"},"kind":"episodic","text":"hello","id":"proto"}',
      );
      const answer = await api.memory.importOwner(stream({ owner, lines: Buffer.from(lines) }));
      expect(answer).toMatchObject({ stored: 2n, refused: 3n });
      expect(answer.refusedItems.map(({ index }) => index)).toEqual([0n, 1n, 2n]);
    },
    "a refused item; the others are stored",
  ),
];

const kinds: readonly HostileCase[] = [
  refused("Kinds", "unspecified", { kind: Kind.UNSPECIFIED }, "FIELD_INVALID"),
  refused("Kinds", "an unknown number", { kind: 99 as Kind }, "FIELD_INVALID"),
  {
    field: "Kinds",
    input: "unspecified, unknown, or 17 of them",
    calls: "Recall, ListEntries, ExportOwner, Watch, Clear",
    answer: "INVALID_ARGUMENT FIELD_INVALID",
    act: ({ api, owner }) =>
      [[Kind.UNSPECIFIED], [99 as Kind], Array<Kind>(17).fill(Kind.EPISODIC)].flatMap((kinds) => [
        () => api.memory.recall({ owner, kinds }),
        () => api.memory.listEntries({ owner, kinds }),
        () => api.memory.exportOwner({ owner, kinds }),
        () => api.memory.watch({ owner, kinds }),
        () => api.memory.clear({ owner, kinds }),
      ]),
  },
  {
    field: "Kinds",
    input: "none and not `all`, or some and `all`",
    calls: "Clear",
    answer: "INVALID_ARGUMENT FIELD_INVALID",
    act: ({ api, owner }) => [
      () => api.memory.clear({ owner }),
      () => api.memory.clear({ owner, kinds: [Kind.EPISODIC], all: true }),
    ],
  },
  fine(
    "Kinds",
    "`dreams` in an imported line",
    "ImportOwner",
    async ({ api, owner }) => {
      const lines = jsonl({ kind: "dreams", text: "a" }, { text: "b" }, { kind: "__proto__", text: "c" });
      const answer = await api.memory.importOwner(stream({ owner, lines: Buffer.from(lines) }));
      expect(answer).toMatchObject({ stored: 0n, refused: 3n });
    },
    "a refused item",
  ),
];

export const entryCases: readonly HostileCase[] = [...texts, ...ids, ...kinds];
export { kept, raw, refused };
