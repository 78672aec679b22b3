import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError, describeOptions, parseOptions } from "@reverie/service-kit";
import pino from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { defaultOwnerConfig, memoryOptions } from "../src/config.js";
import { MemoryServer, type MemoryServerOverrides, version } from "../src/service.js";

const owner = { kind: "OWNER_KIND_AGENT", id: "alice" };

async function started(overrides: MemoryServerOverrides = {}, env: Record<string, string> = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), "reverie-service-"));
  const { config } = parseOptions(memoryOptions, {
    env: {
      REVERIE_DATA_DIR: dataDir,
      REVERIE_GRPC_ADDRESS: "127.0.0.1:0",
      REVERIE_HTTP_ADDRESS: "127.0.0.1:0",
      REVERIE_DURABILITY: "none",
      ...env,
    },
  });
  const server = await MemoryServer.create(config, { logger: pino({ level: "silent" }) }, overrides);
  const { http } = await server.start();
  onTestFinished(async () => {
    await server.stop({ graceMs: 0 });
    await rm(dataDir, { recursive: true, force: true });
  });
  const call = async (method: string, body: object): Promise<[number, Record<string, unknown>]> => {
    const response = await fetch(`http://${http}/reverie.${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return [response.status, (await response.json()) as Record<string, unknown>];
  };
  return { server, config, call, http };
}

describe("the memory server", () => {
  it("stores, lists and describes over Connect", async () => {
    const { call } = await started();
    const entry = { kind: "KIND_SEMANTIC", id: "a", text: "hello", metaJson: '{"n": 9007199254740993}' };
    const [status, stored] = await call("memory.v1.MemoryService/Remember", { owner, entry });
    expect([status, stored.entry]).toEqual([
      200,
      expect.objectContaining({ id: "a", kind: "KIND_SEMANTIC", text: "hello", metaJson: '{"n":9007199254740993}' }),
    ]);
    const [, listed] = await call("memory.v1.MemoryService/ListEntries", { owner });
    expect(listed).toEqual({ entries: [stored.entry], seq: stored.seq });
    const [, described] = await call("memory.v1.OwnerService/Describe", { owner });
    expect(described).toMatchObject({ exists: true, durability: "none", seq: stored.seq, writable: true });
  });

  it("names the broken rule", async () => {
    const { call } = await started();
    const entry = { kind: "KIND_SEMANTIC", id: "a", text: "hello", metaJson: "[" };
    const [status, error] = await call("memory.v1.MemoryService/Remember", { owner, entry });
    expect([status, error.code]).toEqual([400, "invalid_argument"]);
    expect(JSON.stringify(error.details)).toContain("META_INVALID");
  });

  it("says what it is and allows", async () => {
    const { call } = await started();
    const [, info] = await call("info.v1.InfoService/GetServerInfo", {});
    expect(info).toMatchObject({
      service: "reverie-memory",
      version,
      durability: "none",
      limits: { maxTextBytes: "1048576", maxMessageBytes: "4194304", defaultK: 20, watchIdleMs: "30000" },
    });
  });

  it("takes the time from the clock it is given", async () => {
    const { call } = await started({ clock: () => 1_234_567_890_123 });
    const [, stored] = await call("memory.v1.MemoryService/Remember", {
      owner,
      entry: { kind: "KIND_WORKING", text: "t" },
    });
    expect(stored.entry).toMatchObject({ tsMs: "1234567890123", id: expect.stringMatching(/^fr5hugnf-/) });
  });

  it("counts what caps drop", async () => {
    const { call, http } = await started({}, { REVERIE_MAX_EPISODIC_BYTES: "5000" });
    for (let i = 0; i < 10; i++) {
      await call("memory.v1.MemoryService/Remember", {
        owner,
        entry: { kind: "KIND_EPISODIC", text: "x".repeat(1_000) },
      });
    }
    const [, described] = await call("memory.v1.OwnerService/Describe", { owner });
    const metrics = await (await fetch(`http://${http}/metrics`)).text();
    expect(Number(described.droppedByCaps)).toBeGreaterThan(0);
    expect(metrics).toContain(`reverie_memory_dropped_by_caps_total ${described.droppedByCaps}\n`);
    expect(metrics).toContain("reverie_memory_stopped_owners 0\n");
  });

  it("stops twice, and lets go of its data directory", async () => {
    const { server, config } = await started();
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    const next = await MemoryServer.create(config, { logger: pino({ level: "silent" }) });
    await next.start();
    await next.stop();
  });

  it("whose data directory can't be opened says so as a wrong configuration", async () => {
    const parent = await mkdtemp(join(tmpdir(), "reverie-service-"));
    onTestFinished(() => rm(parent, { recursive: true }));
    await writeFile(join(parent, "file"), "");
    const dataDir = join(parent, "file/memory");
    const failure = started({}, { REVERIE_DATA_DIR: dataDir });
    await expect(failure).rejects.toThrow(`cannot open the data directory ${dataDir}: ENOTDIR`);
    await expect(failure).rejects.toBeInstanceOf(ConfigError);
  });

  it("that can't listen lets go of its data directory", async () => {
    const { http } = await started();
    const blocked = started({}, { REVERIE_HTTP_ADDRESS: String(http) });
    await expect(blocked).rejects.toThrow();
  });
});

describe("the options", () => {
  it("have a default, so that the server runs without any", () => {
    const { config } = parseOptions(memoryOptions, {});
    expect(config).toMatchObject({ dataDir: "./.reverie/memory", durability: "fsync", grpcAddress: "127.0.0.1:50051" });
    expect(defaultOwnerConfig(config)).toEqual({
      allowedKinds: ["episodic", "semantic", "working"],
      maxEpisodicBytes: 0,
      maxSemanticBytes: 0,
    });
  });

  it("name allowed kinds in a list", () => {
    const { config } = parseOptions(memoryOptions, { env: { REVERIE_ALLOWED_KINDS: "working, semantic,working" } });
    expect(defaultOwnerConfig(config).allowedKinds).toEqual(["semantic", "working"]);
    expect(() => parseOptions(memoryOptions, { env: { REVERIE_ALLOWED_KINDS: "dreams" } })).toThrow(/allowedKinds/);
  });

  it("are all described", () => {
    for (const { help, key } of describeOptions(memoryOptions)) expect(help, key).not.toBe("");
  });
});
