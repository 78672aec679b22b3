import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  ConfigError,
  type ConfigOf,
  defineOptions,
  describeOptions,
  helpText,
  isLoopback,
  listenOptions,
  loadConfig,
  option,
  parseAddress,
  parseCommandLine,
  parseConfigFile,
  parseOptions,
  sharedOptions,
} from "../src/index.js";
import { makeCertificate } from "./support/certificate.js";

const shared = sharedOptions({ grpcAddress: "127.0.0.1:50051", httpAddress: "127.0.0.1:8051", dataDir: "./data" });
const table = defineOptions({
  ...shared,
  durability: option({ schema: z.enum(["fsync", "interval", "none"]), default: "fsync", help: "How durable." }),
  maxEpisodicBytes: option({ schema: z.int().min(0), default: 0, unit: "bytes", help: "The cap." }),
});
const info = { name: "reverie-memory", version: "1.2.3", description: "Remembers." };
const dir = mkdtempSync(join(tmpdir(), "reverie-config-"));

afterAll(() => rmSync(dir, { recursive: true }));

function problemsOf(run: () => unknown): readonly string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

function safe(overrides: Partial<ConfigOf<typeof shared>> = {}): ConfigOf<typeof shared> {
  return { ...parseOptions(shared, {}).config, ...overrides };
}

test("flags win over variables, those over the file, that over defaults", () => {
  const path = file("a.yaml", "durability: none\ndrainMs: 100\nlogLevel: warn\nhttpAllowedHosts: [a, b]\n");
  const env = { REVERIE_CONFIG: path, REVERIE_DRAIN_MS: "200", REVERIE_LOG_LEVEL: "debug", REVERIE_DATA_DIR: "" };
  const loaded = loadConfig(info, table, ["--log-level", "trace", "--insecure"], env);
  expect(loaded).toMatchObject({
    kind: "run",
    warnings: [],
    config: {
      grpcAddress: "127.0.0.1:50051",
      durability: "none",
      drainMs: 200,
      logLevel: "trace",
      insecure: true,
      dataDir: "./data",
      httpAllowedHosts: ["a", "b"],
      tokensFile: undefined,
    },
  });
});

test("every problem is told at once, with its source, the bad value and the allowed ones", () => {
  const path = "conf.yaml";
  const problems = problemsOf(() =>
    parseOptions(table, {
      flags: { maxEpisodicBytes: "-1" },
      env: { REVERIE_DRAIN_MS: "soon", REVERIE_GRPC_ADDRESS: "nowhere" },
      file: parseConfigFile(path, "# a comment\ndurability: sometimes\n\ndurabilty: fsync\ninsecure: maybe\nzzz: 1\n"),
    }),
  );
  expect(problems).toHaveLength(7);
  const about = (key: string) => problems.find((problem) => problem.startsWith(`${key}:`));
  expect(about("maxEpisodicBytes")).toMatch(/"-1" from flag --max-episodic-bytes is refused: .*>=0 \(bytes\)/);
  expect(about("drainMs")).toContain('"soon" from environment variable REVERIE_DRAIN_MS');
  expect(about("grpcAddress")).toContain("must be host:port, such as");
  expect(about("durability")).toBe(
    'durability: "sometimes" from conf.yaml line 2 is refused: must be one of fsync, interval, none',
  );
  expect(about("durabilty")).toBe("durabilty: unknown key in conf.yaml line 4; did you mean durability?");
  expect(about("insecure")).toContain('"maybe" from conf.yaml line 5');
  expect(about("zzz")).toContain("known keys are grpcAddress, ");
});

test("a file that is no map, no YAML or not there is told by name", () => {
  expect(problemsOf(() => parseConfigFile("x.yaml", "- a\n- b"))[0]).toContain("x.yaml: must hold one map");
  expect(problemsOf(() => parseConfigFile("x.yaml", "a: [1\nb: 2"))[0]).toMatch(/^x\.yaml line \d: /);
  expect(problemsOf(() => loadConfig(info, table, ["--config", join(dir, "no.yaml")], {}))[0]).toContain(
    "no such file",
  );
  expect(problemsOf(() => parseOptions(table, { file: parseConfigFile("x.yaml", "__proto__: 1") }))[0]).toContain(
    "__proto__: unknown key",
  );
  expect(parseConfigFile("x.yaml", "").values).toEqual({});
});

test("a misspelt flag is refused with advice, a misspelt variable is mentioned", () => {
  const [problem] = problemsOf(() => parseCommandLine(info, table, ["--data-dri", "x"]));
  expect(problem).toContain("--data-dri");
  expect(problem).toContain("Did you mean --data-dir?");
  expect(problemsOf(() => parseCommandLine(info, table, ["stray"]))).toHaveLength(1);
  const { warnings } = parseOptions(table, { env: { REVERIE_DATADIR: "x", REVERIE_TOKEN: "t", PATH: "/" } });
  expect(warnings).toEqual(["environment variable REVERIE_DATADIR is not used; did you mean REVERIE_DATA_DIR?"]);
});

test("--help teaches every option with its key, variable, values and default", () => {
  const text = helpText(info, table).replace(/\s+/g, " ");
  for (const { key, flag, variable, help } of describeOptions(table)) {
    expect(text).toContain(`[${key}, ${variable}]`);
    expect(text).toContain(flag);
    expect(text).toContain(help);
  }
  expect(text).toContain("One of fsync, interval, none. Default: fsync.");
  for (const flag of ["--help", "-h"]) expect(parseCommandLine(info, table, [flag])).toMatchObject({ kind: "print" });
  expect(parseCommandLine(info, table, ["--version"])).toEqual({ kind: "print", text: "1.2.3\n" });
});

test("the documentation listing has type, default and unit", () => {
  expect(describeOptions(table).find(({ key }) => key === "drainMs")).toEqual({
    key: "drainMs",
    flag: "--drain-ms",
    variable: "REVERIE_DRAIN_MS",
    type: "number",
    default: "5000",
    unit: "milliseconds",
    help: expect.any(String),
  });
});

test("addresses", () => {
  expect(parseAddress("127.0.0.1:50051")).toEqual({ host: "127.0.0.1", port: 50_051 });
  expect(parseAddress("[::1]:0")).toEqual({ host: "::1", port: 0 });
  for (const bad of ["", "50051", ":50051", "a:b", "a:65536", "::1:5", "[nope]:1", "http://a:1", "a b:1"]) {
    expect(parseAddress(bad), bad).toBeUndefined();
  }
  for (const host of ["localhost", "127.0.0.1", "127.9.9.9", "::1"]) expect(isLoopback(host), host).toBe(true);
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "example.com", "127.evil.com"])
    expect(isLoopback(host), host).toBe(false);
});

describe("listening beyond this machine", () => {
  const tokensFile = file("tokens", "hub: 0123456789abcdef\n");
  const { certFile: tlsCertFile, keyFile: tlsKeyFile } = makeCertificate(dir);

  test("is refused without TLS and tokens, and the message says what to do", () => {
    const open = { grpcAddress: "0.0.0.0:50051", httpAddress: "[::]:8051" };
    expect(problemsOf(() => listenOptions(safe(open)))).toEqual([
      "grpcAddress: 0.0.0.0:50051 can be reached from other machines. Set tlsCertFile and tlsKeyFile, tokensFile, or listen on 127.0.0.1, or accept the risk with --insecure",
      expect.stringContaining("httpAddress: [::]:8051"),
    ]);
    expect(problemsOf(() => listenOptions(safe({ ...open, tokensFile })))[0]).toContain(
      "Set tlsCertFile and tlsKeyFile, or",
    );
    expect(problemsOf(() => listenOptions(safe({ ...open, tlsCertFile, tlsKeyFile })))[0]).toContain(
      "Set tokensFile, or",
    );
  });

  test("is allowed with both, or with insecure", () => {
    const open = { grpcAddress: "0.0.0.0:50051" };
    expect(listenOptions(safe({ ...open, insecure: true })).grpc).toEqual({ host: "0.0.0.0", port: 50_051 });
    const both = listenOptions(safe({ ...open, tokensFile, tlsCertFile, tlsKeyFile }));
    expect(both.auth.required).toBe(true);
    expect(both.tls?.cert.toString()).toContain("BEGIN CERTIFICATE");
  });

  test("what is no certificate, no key, or not a pair is refused by name", () => {
    const text = file("text", "hub: 0123456789abcdef\n");
    const other = makeCertificate(dir, "other").keyFile;
    const problems = (config: object) => problemsOf(() => listenOptions(safe(config)));
    for (const wrong of [text, file("empty", ""), tlsKeyFile]) {
      expect(problems({ tlsCertFile: wrong, tlsKeyFile })).toEqual([
        expect.stringContaining(`tlsCertFile ${wrong}: is no PEM certificate`),
      ]);
    }
    expect(problems({ tlsCertFile, tlsKeyFile: text })).toEqual([
      expect.stringContaining(`tlsKeyFile ${text}: is no PEM private key`),
    ]);
    expect(problems({ tlsCertFile, tlsKeyFile: other })).toEqual([
      expect.stringContaining(`tlsKeyFile ${other}: is not the key of the certificate in ${tlsCertFile}`),
    ]);
  });

  test("half of TLS, a missing file, or no listener at all are refused", () => {
    expect(problemsOf(() => listenOptions(safe({ tlsCertFile })))[0]).toContain("tlsKeyFile: is missing");
    expect(problemsOf(() => listenOptions(safe({ tokensFile: join(dir, "none") })))[0]).toContain(
      "there is no such file",
    );
    expect(problemsOf(() => listenOptions(safe({ grpcAddress: "off", httpAddress: "off" })))[0]).toContain(
      "both are off",
    );
  });
});
