import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { allCallers, type Caller, owner } from "./support/clients.js";

const fixture = fileURLToPath(new URL("./support/main-fixture.ts", import.meta.url));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

interface Running {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  readonly exit: Promise<number | null>;
  readonly ports: () => Promise<{ grpcPort: number; httpPort: number }>;
}

function run(args: readonly string[], env: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, ["--conditions=@reverie/source", "--import", "tsx", fixture, ...args], {
    env: { PATH: process.env.PATH ?? "", ...env },
  });
  children.push(child);
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  const exit = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const line = /gRPC on 127\.0\.0\.1:(\d+), Connect and HTTP on 127\.0\.0\.1:(\d+)/;
  return {
    child,
    out: () => out,
    err: () => err,
    exit,
    ports: async () => {
      await expect.poll(() => out, { timeout: 15_000 }).toMatch(line);
      const match = line.exec(out)!;
      return { grpcPort: Number(match[1]), httpPort: Number(match[2]) };
    },
  };
}

async function settled(callers: readonly Caller[]): Promise<void> {
  await Promise.allSettled(callers.map((caller) => caller.recall({ owner })));
}

test("says where it listens in one line, and SIGTERM with open streams and a hanging call exits 0 in time", async () => {
  const service = run(["--drain-ms", "500"]);
  const callers = allCallers(await service.ports());
  expect(service.out().trim()).toMatch(
    /^reverie-fixture 0\.0\.1: gRPC on \S+, Connect and HTTP on \S+, data in \.\/fixture-data$/,
  );
  const streams = settled([...callers, ...callers, ...callers]);
  const hanging = Promise.allSettled(
    callers.map((caller) => caller.unary("remember", { owner, entry: { kind: 1, text: "hang" } })),
  );
  await new Promise((resolve) => setTimeout(resolve, 500));
  const startedAt = performance.now();
  service.child.kill("SIGTERM");
  expect(await service.exit).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(3000);
  await Promise.all([streams, hanging]);
  expect(service.err()).toContain('"msg":"stopped"');
  for (const caller of callers) caller.close();
});

test("a second signal leaves at once, but not the echo of the first", async () => {
  const service = run(["--drain-ms", "9000"]);
  const callers = allCallers(await service.ports());
  const hanging = Promise.allSettled([callers[0]!.unary("remember", { owner, entry: { kind: 1, text: "hang" } })]);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const startedAt = performance.now();
  service.child.kill("SIGTERM");
  service.child.kill("SIGTERM");
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(service.child.exitCode).toBeNull();
  service.child.kill("SIGINT");
  expect(await service.exit).toBe(1);
  expect(performance.now() - startedAt).toBeLessThan(2000);
  await hanging;
  for (const caller of callers) caller.close();
});

test("a wrong configuration exits 2 with every problem and no stack", async () => {
  const service = run(["--drain-ms", "soon", "--grpc-address", "0.0.0.0"], { REVERIE_LOG_LEVEL: "loud" });
  expect(await service.exit).toBe(2);
  expect(service.err().trim().split("\n")).toHaveLength(3);
  expect(service.err()).toContain('reverie-fixture: logLevel: "loud" from environment variable REVERIE_LOG_LEVEL');
  expect(service.err()).not.toContain("    at ");
});

test("a busy port and an unsafe address exit 2 and say what to do", async () => {
  const first = run([]);
  const { grpcPort } = await first.ports();
  const second = run(["--grpc-address", `127.0.0.1:${grpcPort}`]);
  expect(await second.exit).toBe(2);
  expect(second.err().trim()).toMatch(/^reverie-fixture: grpcAddress: can't listen on .*choose another port/);
  const third = run(["--http-address", "0.0.0.0:0"]);
  expect(await third.exit).toBe(2);
  expect(third.err()).toContain("Set tlsCertFile and tlsKeyFile, tokensFile");
});

test("--help and --version print and exit 0", async () => {
  const help = run(["--help"]);
  const version = run(["--version"]);
  expect([await help.exit, await version.exit]).toEqual([0, 0]);
  expect(help.out()).toContain("--grpc-address <host:port>");
  expect(version.out()).toBe("0.0.1\n");
});

test.each(["stray rejection", "stray throw"])("a %s is logged and exits 1", async (text) => {
  const service = run([]);
  const callers = allCallers(await service.ports());
  await Promise.allSettled([callers[0]!.unary("remember", { owner, entry: { kind: 1, text } })]);
  expect(await service.exit).toBe(1);
  expect(service.err()).toContain('"level":"fatal"');
  for (const caller of callers) caller.close();
});
