import { ReverieError } from "@reverie/service-kit/errors";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkDraft, checkText, type EntryDraft } from "../src/domain/entry.js";
import { checkEntryId, makeEntryId } from "../src/domain/entry-id.js";
import { namedKinds, readableKinds } from "../src/domain/kinds.js";
import { clampCount, cutToBytes, fitsBytes, MAX_TEXT_BYTES } from "../src/domain/limits.js";
import { checkOwner } from "../src/domain/owner.js";
import type { OwnerConfig, OwnerKind } from "../src/store/store.js";

/** The error's reason and its metadata `rule`, or "" when there is no error. */
function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (!(error instanceof ReverieError)) throw error;
    return [error.reason, error.metadata.rule].filter((part) => part !== undefined).join(" ");
  }
  return "";
}

const anyKind: OwnerConfig = {
  allowedKinds: ["episodic", "semantic", "working"],
  maxEpisodicBytes: 0,
  maxSemanticBytes: 0,
};
const draft: EntryDraft = { id: "a", kind: "episodic", text: "hello", meta: "", ts: 5 };

describe("an owner's id", () => {
  it.each([
    ["agent", "", "empty"],
    ["agent", ".", "dot"],
    ["agent", "..", "dot"],
    ["agent", "a/b", "slash"],
    ["agent", "../x", "slash"],
    ["agent", "a\\b", "slash"],
    ["agent", "a\0b", "control"],
    ["agent", "é".repeat(128), "size"],
    ["agent", "a".repeat(256), "size"],
    ["agent", "\ud800", "surrogate"],
    ["org", "acme", "org"],
  ] as [OwnerKind, string, string][])("of %s may not be %j", (kind, id, rule) => {
    expect(refusal(() => checkOwner({ kind, id }))).toBe(`OWNER_ID_INVALID ${rule}`);
  });

  it.each([
    ["agent", "a"],
    ["agent", "a".repeat(255)],
    ["user", "x@example.org"],
    ["peer", "日本"],
    ["shared", "with space"],
    ["org", "self"],
    // Readable where such a directory exists; a new one the store refuses.
    ["agent", ".hidden"],
    ["agent", "e\u0301"],
    ["agent", "tab\there"],
  ] as [OwnerKind, string][])("of %s may be %j", (kind, id) => {
    expect(refusal(() => checkOwner({ kind, id }))).toBe("");
  });
});

describe("an entry's id", () => {
  it("is made of base-36 milliseconds and six random characters", () => {
    const now = Date.UTC(2030, 0, 1);
    const ids = Array.from({ length: 5000 }, () => makeEntryId(now));
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-z]{8,}-[a-z0-9]{6}$/);
      expect(Number.parseInt(id.slice(0, -7), 36)).toBe(now);
    }
    const used = new Set(ids.flatMap((id) => [...id.slice(-6)]));
    expect(used.size).toBe(36);
  });

  it("sorts by time, also for early clocks", () => {
    expect(makeEntryId(0)).toMatch(/^00000000-/);
    expect(makeEntryId(-1)).toMatch(/^00000000-/);
    expect(makeEntryId(1_000) < makeEntryId(2_000_000_000_000)).toBe(true);
  });

  it.each([
    ["", "empty"],
    ["a".repeat(129), "size"],
    ["é".repeat(65), "size"],
    ["a\nb", "control"],
    ["\u007f", "control"],
    ["\u0085", "control"],
    ["\udc00", "surrogate"],
  ])("may not be %j", (id, rule) => {
    expect(refusal(() => checkEntryId(id))).toBe(`ENTRY_ID_INVALID ${rule}`);
  });

  it.each(["a", "a".repeat(128), "é".repeat(64), "a b/c..", "🙂"])("may be %j", (id) => {
    expect(refusal(() => checkEntryId(id))).toBe("");
  });
});

describe("a text", () => {
  it("is 1 byte to 1 MiB of UTF-8", () => {
    expect(refusal(() => checkText(""))).toBe("TEXT_INVALID");
    expect(refusal(() => checkText("a".repeat(MAX_TEXT_BYTES)))).toBe("");
    expect(refusal(() => checkText("a".repeat(MAX_TEXT_BYTES + 1)))).toBe("TEXT_INVALID");
    expect(refusal(() => checkText("é".repeat(MAX_TEXT_BYTES / 2)))).toBe("");
    expect(refusal(() => checkText(`${"é".repeat(MAX_TEXT_BYTES / 2)}a`))).toBe("TEXT_INVALID");
  });

  it("is well-formed", () => {
    expect(refusal(() => checkText("a\ud800b"))).toBe("TEXT_INVALID");
    expect(refusal(() => checkText(" \0\u2028\n"))).toBe("");
  });

  it("that is too long is told its size and the limit", () => {
    expect(() => checkText("日".repeat(400_000))).toThrow(
      expect.objectContaining({ metadata: { limit: "1048576", size: "1200000" } }),
    );
  });
});

describe("a draft", () => {
  it("keeps what was sent", () => {
    expect(checkDraft({ ...draft, meta: '{ "n" : 1.50 }' }, anyKind, 99)).toEqual({
      id: "a",
      kind: "episodic",
      text: "hello",
      ts: 5,
      meta: '{"n":1.50}',
    });
  });

  it("gets an id and the present time where it has none", () => {
    const entry = checkDraft({ ...draft, id: "", ts: undefined }, anyKind, 1_700_000_000_000);
    expect(entry.ts).toBe(1_700_000_000_000);
    expect(entry.id).toMatch(/^[0-9a-z]{8}-[a-z0-9]{6}$/);
    expect(checkDraft({ ...draft, ts: 0 }, anyKind, 9).ts).toBe(0);
  });

  it.each([
    [{ kind: undefined }, "FIELD_INVALID"],
    [{ ts: -1 }, "FIELD_INVALID"],
    [{ ts: 1.5 }, "FIELD_INVALID"],
    [{ ts: 8_640_000_000_000_001 }, "FIELD_INVALID"],
    [{ ts: Number.NaN }, "FIELD_INVALID"],
    [{ id: "x\n" }, "ENTRY_ID_INVALID control"],
    [{ text: "" }, "TEXT_INVALID"],
    [{ meta: "[]" }, "META_INVALID object"],
  ] as [Partial<EntryDraft>, string][])("with %j is refused", (change, reason) => {
    expect(refusal(() => checkDraft({ ...draft, ...change }, anyKind, 0))).toBe(reason);
  });

  it("of a kind that the config doesn't allow is refused with what is allowed", () => {
    const config: OwnerConfig = { ...anyKind, allowedKinds: ["semantic", "working"] };
    expect(() => checkDraft(draft, config, 0)).toThrow(
      expect.objectContaining({
        reason: "KIND_NOT_ALLOWED",
        metadata: { kind: "episodic", allowed: "semantic,working" },
      }),
    );
  });
});

describe("kinds to read", () => {
  const narrow: OwnerConfig = { ...anyKind, allowedKinds: ["working", "episodic"] };

  it("are those asked for that the config allows", () => {
    expect(readableKinds([], anyKind)).toEqual(["episodic", "semantic", "working"]);
    expect(readableKinds([], narrow)).toEqual(["episodic", "working"]);
    expect(readableKinds(["working", "semantic", "working"], narrow)).toEqual(["working"]);
  });

  it("are none, and not all, where nothing asked for is allowed", () => {
    expect(readableKinds(["semantic"], narrow)).toEqual([]);
  });

  it("named for a clear or an export don't depend on the config", () => {
    expect(namedKinds([])).toEqual(["episodic", "semantic", "working"]);
    expect(namedKinds(["semantic", "semantic"])).toEqual(["semantic"]);
  });
});

describe("counts and bytes", () => {
  it("of 0 mean the default, above the cap the cap, below 0 an error", () => {
    expect([0, 1, 200, 201, 2 ** 31 - 1].map((k) => clampCount("k", k, 20, 200))).toEqual([20, 1, 200, 200, 200]);
    expect(refusal(() => clampCount("k", -1, 20, 200))).toBe("FIELD_INVALID");
  });

  it("are measured as UTF-8", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(40), (text, max) => {
        expect(fitsBytes(text, max)).toBe(Buffer.byteLength(text) <= max);
      }),
    );
  });

  it("are cut at a code point boundary, as late as possible", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 4, max: 40 }), (text, max) => {
        const cut = cutToBytes(text, max);
        expect(text.startsWith(cut) && cut.isWellFormed()).toBe(true);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
        if (cut !== text) expect(Buffer.byteLength(cut)).toBeGreaterThan(max - 4);
      }),
    );
    expect(cutToBytes("a\ud800b", 100)).toBe("a\ufffdb");
  });
});
