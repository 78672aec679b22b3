import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Owner, ScopeContext } from "../src/index.js";
import { formatOwner, parseOwner, ReverieError, resolveScope } from "../src/index.js";

interface Vectors {
  readonly cases: {
    readonly name: string;
    readonly scope: string;
    readonly context: ScopeContext;
    readonly owner?: Owner;
    readonly text?: string;
    readonly error?: string;
  }[];
  readonly ownerTexts: {
    readonly name: string;
    readonly text: string;
    readonly owner?: Owner;
    readonly error?: string;
  }[];
}

const vectors = JSON.parse(
  readFileSync(new URL("../../../test/vectors/scopes.json", import.meta.url), "utf8"),
) as Vectors;

function reasonOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ReverieError) return error.reason;
    throw error;
  }
  throw new Error("did not throw");
}

describe("resolveScope", () => {
  test.each(vectors.cases)("$name", ({ scope, context, owner, text, error }) => {
    if (error !== undefined) {
      expect(reasonOf(() => resolveScope(scope, context))).toBe(error);
      return;
    }
    const resolved = resolveScope(scope, context);
    expect(resolved).toEqual(owner);
    expect(formatOwner(resolved)).toBe(text);
    expect(parseOwner(formatOwner(resolved))).toEqual(owner);
  });

  // JSON vectors for every language can't hold these.
  test("half a character and other types are refused", () => {
    expect(reasonOf(() => resolveScope("shared:\ud83d"))).toBe("OWNER_ID_INVALID");
    expect(reasonOf(() => resolveScope(undefined as never))).toBe("SCOPE_INVALID");
    expect(reasonOf(() => resolveScope("private", { agentId: 7 as never }))).toBe("OWNER_ID_INVALID");
  });
});

describe("the owner's text form", () => {
  test.each(vectors.ownerTexts)("$name", ({ text, owner, error }) => {
    if (error !== undefined) expect(reasonOf(() => parseOwner(text))).toBe(error);
    else expect(parseOwner(text)).toEqual(owner);
  });
});
