import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startService, temporaryDirectory } from "./support/service.js";
import { checkout } from "./support/service-process.js";

// scripts/check-buf-curl.ts has the other protocols; here is what a person would type.

test("buf curl, which learns the schema from the service, stores and finds; the line is plain JSON", async () => {
  const dir = temporaryDirectory();
  const service = await startService({ dataDir: join(dir, "data") });
  const curl = async (method: string, data: object): Promise<string> => {
    const url = `http://${service.grpc}/reverie.memory.v1.MemoryService/${method}`;
    const args = ["curl", "--protocol", "grpc", "--http2-prior-knowledge", "--data", JSON.stringify(data), url];
    // A directory without .proto files: the schema comes by reflection.
    return (await promisify(execFile)(join(checkout, "node_modules/.bin/buf"), args, { cwd: dir })).stdout;
  };
  const owner = { kind: "OWNER_KIND_AGENT", id: "curl" };
  const entry = {
    kind: "KIND_EPISODIC",
    id: "first",
    text: "Grüße aus\nder Kommandozeile",
    metaJson: '{"big": 9007199254740993}',
  };
  expect(JSON.parse(await curl("Remember", { owner, entry }))).toMatchObject({ entry: { id: "first" }, seq: "1" });
  const found = await curl("Recall", { owner, text: "GRÜSSE" });
  expect(found).toContain("der Kommandozeile");
  expect(found).toMatch(/"summary":\s*\{/);

  const [line, end] = readFileSync(join(dir, "data/agent/curl/episodic.jsonl"), "utf8").split("\n");
  expect(end).toBe("");
  expect(JSON.parse(line)).toMatchObject({ id: "first", kind: "episodic", text: entry.text, ts: expect.any(Number) });
  expect(Math.abs(JSON.parse(line).ts - Date.now())).toBeLessThan(60_000);
  expect(line).toContain('"meta":{"big":9007199254740993}');
});
