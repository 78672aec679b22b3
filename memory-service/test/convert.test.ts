import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { ErrorReason } from "@reverie/proto/info";
import {
  EntrySchema,
  Kind,
  MemoryConfigSchema,
  OwnerKind,
  OwnerSchema,
  RefusedItemSchema,
} from "@reverie/proto/memory";
import { describe, expect, it } from "vitest";
import * as convert from "../src/rpc/convert.js";
import { KINDS, OWNER_KINDS, type StoredEntry } from "../src/store/store.js";

const stored: StoredEntry = { id: "a", kind: "semantic", text: "hello", ts: 5, meta: '{"x":1}', seq: 7, ord: 7 };
const overWire = (entry: StoredEntry) => fromBinary(EntrySchema, toBinary(EntrySchema, convert.entryMessage(entry)));

describe("conversion", () => {
  it("carries an entry whole", () => {
    expect(overWire(stored)).toMatchObject({
      id: "a",
      kind: Kind.SEMANTIC,
      text: "hello",
      tsMs: 5n,
      metaJson: '{"x":1}',
      seq: 7n,
      textTruncated: false,
      metaOmitted: false,
    });
  });

  it("cuts an older text over 1 MiB at a code point and says so", () => {
    const { text, textTruncated } = overWire({ ...stored, text: `x${"🙂".repeat(300_000)}` });
    expect(textTruncated).toBe(true);
    expect(Buffer.byteLength(text)).toBe(1_048_573);
    expect(text.endsWith("🙂")).toBe(true);
    const full = overWire({ ...stored, text: "é".repeat(524_288) });
    expect([full.textTruncated, full.text.length]).toEqual([false, 524_288]);
  });

  it("leaves an older meta over 64 KiB out and says so", () => {
    const { metaJson, metaOmitted } = overWire({ ...stored, meta: `{"a":"${"x".repeat(65_536)}"}` });
    expect([metaJson, metaOmitted]).toEqual(["", true]);
  });

  it("sends older ids, times and texts that no request could", () => {
    const { id, tsMs, text } = overWire({ ...stored, id: `\ud800${"x".repeat(5_000)}`, ts: -1.5, text: "\udc00" });
    expect([id.length, id[0], tsMs, text]).toEqual([4094, "\ufffd", -1n, "\ufffd"]);
    expect(overWire({ ...stored, ts: 1e300 }).tsMs).toBe(9007199254740991n);
    expect(overWire({ ...stored, ts: Number.NaN }).tsMs).toBe(0n);
  });

  it("knows every kind and owner kind both ways, and no unspecified one", () => {
    for (const kind of KINDS) expect(convert.kindsOf("kinds", [convert.kindCode(kind)])).toEqual([kind]);
    for (const kind of OWNER_KINDS) {
      const wire = fromBinary(OwnerSchema, toBinary(OwnerSchema, convert.ownerMessage({ kind, id: "x" })));
      expect(convert.ownerOf(wire)).toEqual({ kind, id: "x" });
    }
    const invalid = expect.objectContaining({ reason: "FIELD_INVALID" });
    expect(() => convert.kindsOf("kinds", [Kind.UNSPECIFIED])).toThrow(invalid);
    expect(() => convert.kindsOf("kinds", [9 as Kind])).toThrow(invalid);
    expect(() => convert.ownerKindOf("kind", OwnerKind.UNSPECIFIED)).toThrow(invalid);
    expect(() => convert.ownerOf(undefined)).toThrow(invalid);
  });

  it("refuses an int64 that a number can't hold", () => {
    expect(convert.numberOf("since_ms", -9007199254740991n)).toBe(-9007199254740991);
    expect(() => convert.numberOf("since_ms", 9007199254740992n)).toThrow(
      expect.objectContaining({
        reason: "FIELD_INVALID",
        violations: [expect.objectContaining({ field: "since_ms" })],
      }),
    );
  });

  it("takes a time of 0 as none", () => {
    const entry = {
      $typeName: "reverie.memory.v1.NewEntry",
      id: "",
      kind: Kind.WORKING,
      text: "t",
      metaJson: "",
    } as const;
    expect(convert.draftOf({ ...entry, tsMs: 0n })).toEqual({
      id: "",
      kind: "working",
      text: "t",
      meta: "",
      ts: undefined,
    });
    expect(convert.draftOf({ ...entry, kind: Kind.UNSPECIFIED, tsMs: 4n })).toMatchObject({ kind: undefined, ts: 4 });
  });

  it("carries refusals and configs", () => {
    const refused = convert.refusedMessage({ index: 3, id: "x", reason: "ENTRY_EXISTS", message: "m" });
    expect(fromBinary(RefusedItemSchema, toBinary(RefusedItemSchema, refused)).reason).toBe(ErrorReason.ENTRY_EXISTS);
    const config = { allowedKinds: ["working"], maxEpisodicBytes: 1, maxSemanticBytes: 0 } as const;
    const wire = fromBinary(MemoryConfigSchema, toBinary(MemoryConfigSchema, convert.configMessage(config)));
    expect(convert.configOf(wire)).toEqual(config);
  });
});
