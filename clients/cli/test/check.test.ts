import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { jsonLines, run } from "./support/cli.js";
import { type Service, startService } from "./support/service.js";

let service: Service;
beforeAll(async () => {
  service = await startService();
  await service.client.remember("agent/ada", { kind: "semantic", text: "kept", id: "a" });
});
afterAll(() => service.end());

const TO_DO = "--fix and --adopt do what is marked";

describe("check", { timeout: 120_000 }, () => {
  it("refuses while a service runs, and what is no data directory, with status 2", async () => {
    const [running, none, other] = await Promise.all([
      run(["check", service.dataDir]),
      run(["check", join(service.dir, "none")]),
      run(["check", service.dir, "--json"]),
    ]);
    expect(running).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/in use.*\nhint: Stop the service/),
    });
    expect(none).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/\nhint: Give the service's --data-dir/),
    });
    expect(jsonLines(other.stderr)).toMatchObject([{ error: { reason: "CANNOT_CHECK", exitCode: 2 } }]);
  });

  it("finds nothing wrong, then what is; mends it only when asked", async () => {
    await service.stop();
    try {
      const clean = await run(["check", service.dataDir]);
      expect(clean).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("nothing is wrong") });
      const log = join(service.dataDir, "agent/ada/semantic.jsonl");
      appendFileSync(log, '{"id":"torn\x1b[31m');
      const found = await run(["check", service.dataDir, "--json"]);
      expect(found.code).toBe(1);
      expect(jsonLines(found.stdout)).toMatchObject([
        { path: "agent/ada/semantic.jsonl", problem: "torn-tail", action: "cut", done: false },
      ]);
      expect(jsonLines(found.stderr)).toMatchObject([
        { summary: { owners: 1, entries: 1, findings: 1, fixed: 0, remaining: 1 } },
        { error: { reason: "PROBLEMS_REMAIN", exitCode: 1 } },
      ]);
      expect(readFileSync(log, "utf8")).toContain("torn");
      const shown = await run(["check", service.dataDir, "--table"]);
      expect(shown.stderr).toContain(TO_DO);
      const fixed = await run(["check", service.dataDir, "--fix", "--table"]);
      expect(fixed).toMatchObject({ code: 0, stdout: expect.stringContaining("done: cut") });
      expect(await run(["check", service.dataDir])).toMatchObject({ code: 0 });
      // What nothing can be done about doesn't send anybody to --fix.
      writeFileSync(join(service.dataDir, "agent/ada/.reverie.json"), "{");
      const left = await run(["check", service.dataDir]);
      expect(left.code).toBe(1);
      expect(jsonLines(left.stdout)).toMatchObject([{ problem: "config-unreadable", action: "none" }]);
      expect(left.stderr).not.toContain(TO_DO);
      rmSync(join(service.dataDir, "agent/ada/.reverie.json"));
      const format = join(service.dataDir, "FORMAT");
      const known = readFileSync(format);
      writeFileSync(format, "reverie-memory 99\n");
      const newer = await run(["check", service.dataDir]);
      writeFileSync(format, known);
      expect(newer).toMatchObject({ code: 2, stderr: expect.stringMatching(/format 99.*\nhint: Use the .*version/) });
    } finally {
      await service.start();
    }
  });
});
