import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ListScope, sealOwnerId, sealPosition, unsealOwnerId, unsealPosition } from "../src/domain/page-token.js";
import { KINDS, type Position } from "../src/store/store.js";

const secret = Buffer.alloc(32, 7);
const scope: ListScope = { owner: { kind: "agent", id: "a" }, kinds: ["episodic"], order: "newest" };
const position: Position = { ts: 1_700_000_000_000, ord: 12, kind: "episodic" };
const invalid = expect.objectContaining({ reason: "PAGE_TOKEN_INVALID" });

describe("a page token", () => {
  it("brings any position back, also after a restart", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), fc.constantFrom(...KINDS), (ts, ord, kind) => {
        const token = sealPosition(secret, scope, { ts, ord, kind });
        expect(token).toMatch(/^[\w-]{1,64}$/);
        expect(unsealPosition(Buffer.from(secret), { ...scope, kinds: ["episodic", "episodic"] }, token)).toEqual({
          ts,
          ord,
          kind,
        });
      }),
    );
  });

  it.each([
    ["owner id", { owner: { kind: "agent", id: "b" } }],
    ["owner kind", { owner: { kind: "user", id: "a" } }],
    ["kinds", { kinds: [] }],
    ["more kinds", { kinds: ["episodic", "working"] }],
    ["order", { order: "oldest" }],
  ] as [string, Partial<ListScope>][])("serves no other %s", (_, change) => {
    const token = sealPosition(secret, scope, position);
    expect(() => unsealPosition(secret, { ...scope, ...change }, token)).toThrow(invalid);
  });

  it("serves no other data directory", () => {
    const token = sealPosition(secret, scope, position);
    expect(() => unsealPosition(randomBytes(32), scope, token)).toThrow(invalid);
  });

  it("is refused when anything in it was changed", () => {
    const token = sealPosition(secret, scope, position);
    for (let at = 0; at < token.length; at++) {
      const changed = `${token.slice(0, at)}${token[at] === "A" ? "B" : "A"}${token.slice(at + 1)}`;
      expect(() => unsealPosition(secret, scope, changed)).toThrow(invalid);
    }
  });

  it.each(["x", "====", "0", "not a token", "AQ", "é", "A".repeat(1024), "\0"])("is not %j", (token) => {
    expect(() => unsealPosition(secret, scope, token)).toThrow(invalid);
    expect(() => unsealOwnerId(secret, "agent", token)).toThrow(invalid);
  });

  it("of owners brings the id back, for their kind only", () => {
    const id = `日本${"x".repeat(249)}`;
    const token = sealOwnerId(secret, "agent", id);
    expect(token.length).toBeLessThan(1024);
    expect(unsealOwnerId(secret, "agent", token)).toBe(id);
    expect(() => unsealOwnerId(secret, "user", token)).toThrow(invalid);
    expect(() => unsealPosition(secret, scope, token)).toThrow(invalid);
  });
});
