import { join } from "node:path";
import { MemoryServer, memoryOptions } from "@reverie/memory-service";
import { createLogger, parseOptions } from "@reverie/service-kit";
import { expect, onTestFinished, test } from "vitest";
import { clientOf, startService, temporaryDirectory } from "./support/service.js";
import { ServiceProcess } from "./support/service-process.js";

test("a second process on one data directory ends with a message that names the holder", async () => {
  const dataDir = join(temporaryDirectory(), "data");
  const first = await startService({ dataDir });
  const second = ServiceProcess.spawn({ dataDir });
  onTestFinished(async () => {
    await second.end("SIGKILL");
  });
  const exit = await Promise.race([second.exited, second.listening]);
  expect(exit?.code, exit?.output).toBeGreaterThan(0);
  expect(exit?.output).toContain(`in use by process ${first.child.pid} `);

  // The time without that of starting a process.
  const flags = { dataDir, grpcAddress: "127.0.0.1:0", httpAddress: "off" };
  const { config } = parseOptions(memoryOptions, { flags, env: {} });
  const started = performance.now();
  const here = MemoryServer.create(config, { logger: createLogger({ name: "second", level: "fatal" }) });
  await expect(here).rejects.toThrow(`in use by process ${first.child.pid} `);
  expect(performance.now() - started).toBeLessThan(1_000);

  const client = clientOf(first);
  await client.remember("agent/x", { kind: "episodic", text: "the first goes on" });
  expect((await client.recall("agent/x")).entries).toHaveLength(1);
});

test("a killed process leaves no lock behind", async () => {
  const dataDir = join(temporaryDirectory(), "data");
  const first = await startService({ dataDir });
  await first.end("SIGKILL");
  await startService({ dataDir });
});
