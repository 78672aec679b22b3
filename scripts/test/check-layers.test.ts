import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { findLayerViolations } from "../lib/layers.js";
import { root, withTempDir } from "../lib/repo.js";

/** What the lint says about a tree with these files. */
function lint(files: Readonly<Record<string, string>>): Promise<string[]> {
  return withTempDir("layers", (dir) => {
    mkdirSync(join(dir, "clients"));
    mkdirSync(join(dir, "proto"));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    return findLayerViolations(dir);
  });
}

describe("layer lint", () => {
  it("passes this repository", () => {
    expect(findLayerViolations(root)).toEqual([]);
  });

  it("accepts imports that point down", async () => {
    const violations = await lint({
      "memory-service/src/main.ts": `import "./service.js"; import "./store/jsonl/a.js"; import "./rpc/a.js";`,
      "memory-service/src/rpc/a.ts": `import "../domain/a.js"; import "../store/store.js"; import "@bufbuild/protobuf";`,
      "memory-service/src/domain/a.ts": `import "../store/store.js"; import "../text/a.js"; import "@reverie/service-kit/errors";`,
      "memory-service/src/store/jsonl/a.ts": `import "../store.js"; import "../../text/a.js"; import "node:fs";`,
      "memory-service/src/text/a.ts": `import "node:crypto";`,
      "service-kit/src/a.ts": `import "@reverie/proto/info"; import "./b.js";`,
      "clients/typescript/src/a.ts": `import "@reverie/proto/memory";`,
      "clients/cli/src/a.ts": `import "@reverie/client"; import "@reverie/memory-service/check";`,
      "clients/typescript/test/a.ts": `import "@reverie/memory-service";`,
    });
    expect(violations).toEqual([]);
  });

  it.each([
    ["memory-service/src/rpc/a.ts", `import "../store/jsonl/a.js";`],
    ["memory-service/src/rpc/a.ts", `import "../config.js";`],
    ["memory-service/src/rpc/a.ts", `import "@reverie/client";`],
    ["memory-service/src/domain/a.ts", `import "../rpc/a.js";`],
    ["memory-service/src/domain/deep/a.ts", `import type { A } from "../../rpc/a.js";`],
    ["memory-service/src/domain/a.ts", `import "../store/jsonl/a.js";`],
    ["memory-service/src/domain/a.ts", `import type { A } from "@bufbuild/protobuf";`],
    ["memory-service/src/domain/a.ts", `import "@reverie/proto/memory";`],
    ["memory-service/src/domain/a.ts", `import "@reverie/service-kit";`],
    ["memory-service/src/domain/a.ts", `import "node:fs";`],
    ["memory-service/src/domain/a.ts", `import "fs/promises";`],
    ["memory-service/src/domain/a.ts", `export const a = await import("node:fs/promises");`],
    ["memory-service/src/domain/a.ts", `export type A = import("@grpc/grpc-js").Client;`],
    ["memory-service/src/domain/a.ts", `export * from "@connectrpc/connect";`],
    ["memory-service/src/store/store.ts", `import "./jsonl/a.js";`],
    ["memory-service/src/store/jsonl/a.ts", `import "../../domain/a.js";`],
    ["memory-service/src/store/jsonl/a.ts", `import "@reverie/service-kit";`],
    ["memory-service/src/text/a.ts", `import "../store/store.js";`],
    ["memory-service/src/text/a.ts", `import "@reverie/service-kit/errors";`],
    ["memory-service/src/util/a.ts", ""],
    ["memory-service/src/domain/a.ts", `import "../../../service-kit/src/errors.js";`],
    ["service-kit/src/a.ts", `import "@reverie/memory-service";`],
    ["clients/typescript/src/a.ts", `import "@reverie/service-kit/errors";`],
    ["clients/typescript/src/a.ts", `import "@reverie/memory-service";`],
    ["proto/a.ts", `import "@reverie/client";`],
  ])("refuses in %s: %s", async (path, text) => {
    const violations = await lint({ [path]: text });
    expect(violations).toHaveLength(1);
    expect(violations[0]).toContain(path);
  });
});
