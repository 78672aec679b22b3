import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Kind, OwnerKind } from "@reverie/proto/memory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkout, cleanEnv, ended, jsonLines, run, shellLine, start } from "./support/cli.js";
import { type Service, startService } from "./support/service.js";

let service: Service;
const token = "0123456789abcdef0123456789abcdef";
beforeAll(async () => {
  service = await startService({}, token);
  const items = Array.from({ length: 3_000 }, (_, n) => ({
    kind: "semantic" as const,
    text: "x".repeat(200),
    id: `n${n}`,
  }));
  await service.client.rememberMany("agent/many", items);
});
afterAll(() => service.end());

const bash = (script: string) =>
  ended(
    spawn("bash", ["-o", "pipefail", "-c", script], {
      cwd: checkout,
      env: cleanEnv(service.env),
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );

describe("the process", { timeout: 120_000 }, () => {
  it("ends quietly when whoever reads stops reading", async () => {
    const ran = await bash(`${shellLine(["list", "agent/many"])} | head -n 1`);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(jsonLines(ran.stdout)).toHaveLength(1);
  });

  it("fails when the output can't be written", async () => {
    const ran = await bash(`${shellLine(["list", "agent/many"])} > /dev/full`);
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: Can't write the output: ENOSPC.*\nhint: /),
    });
  });

  it("says how to reach a service that isn't there, with status 4", async () => {
    const ran = await run(["list", "agent/ada", "--address", "127.0.0.1:1"]);
    expect(ran).toMatchObject({
      code: 4,
      stdout: "",
      stderr: expect.stringMatching(/^error: Nothing answers at 127.0.0.1:1 .*\nhint: .*npm start.*--address/),
    });
  });

  it("takes the token from the environment or a file, the service's own file too; without one it is status 5", async () => {
    const { REVERIE_TOKEN: _, ...env } = service.env as Record<string, string>;
    const [none, wrong, file, ours] = await Promise.all([
      run(["describe", "agent/many", "--json"], { env }),
      run(["describe", "agent/many"], { env: { ...env, REVERIE_TOKEN: "another-token-that-is-long" } }),
      run(["describe", "agent/many", "--token-file", join(service.dir, "tokens")], { env }),
      run(["describe", "agent/many"], { env: service.env }),
    ]);
    expect(none.code).toBe(5);
    expect(jsonLines(none.stderr)).toMatchObject([
      { error: { reason: "UNAUTHENTICATED", exitCode: 5, hint: expect.stringContaining("REVERIE_TOKEN") } },
    ]);
    expect(wrong.code).toBe(5);
    expect([file.code, ours.code]).toEqual([0, 0]);
    const far = await run(["list", "agent/many", "--address", "192.0.2.1:50051"], { env: service.env });
    expect(far).toMatchObject({ code: 2, stderr: expect.stringMatching(/unencrypted.*\nhint: .*--tls/) });
  });

  it("speaks TLS with a certificate authority of one's own, and says what to give where it can't", async () => {
    const [key, cert] = [join(service.dir, "key.pem"), join(service.dir, "cert.pem")];
    const names = ["-subj", "/CN=reverie.test", "-addext", "subjectAltName=DNS:reverie.test"];
    const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", key, "-out", cert];
    execFileSync("openssl", ["req", "-x509", "-nodes", "-days", "1", ...made, ...names], { stdio: "ignore" });
    const secure = await startService({ tlsCertFile: cert, tlsKeyFile: key });
    try {
      const [trusted, unknown, otherName, plain, plainService] = await Promise.all([
        run(["describe", "agent/x", "--tls-ca", cert, "--tls-server-name", "reverie.test"], { env: secure.env }),
        run(["describe", "agent/x", "--tls", "--timeout", "5s"], { env: secure.env }),
        run(["describe", "agent/x", "--tls-ca", cert, "--timeout", "5s"], { env: secure.env }),
        run(["describe", "agent/x", "--timeout", "5s"], { env: secure.env }),
        run(["describe", "agent/x", "--tls", "--timeout", "5s"], { env: service.env }),
      ]);
      expect(jsonLines(trusted.stdout)).toMatchObject([{ owner: "agent/x", exists: false }]);
      for (const { code, stderr } of [unknown, otherName, plain, plainService]) {
        expect(code).toBe(4);
        expect(stderr, "nothing but the error and its hint").toMatch(/^error: .*\nhint: .*\n$/);
      }
      expect(unknown.stderr).toMatch(/self-signed.*\nhint: .*--tls-ca FILE/);
      expect(otherName.stderr).toMatch(/altnames.*\nhint: .*--tls-server-name/);
      expect(plain.stderr).toMatch(/\nhint: .*--tls/);
      expect(plainService.stderr).toMatch(/: wrong version number\nhint: Leave out --tls/);
    } finally {
      await secure.end();
    }
  });

  it("watches through a restart, and ends with 130 at Ctrl-C", async () => {
    await service.client.remember("agent/seen", { kind: "semantic", text: "first", id: "a" });
    const child = start(["watch", "agent/seen", "--all"], { env: service.env });
    const lines: string[] = [];
    child.stdout!.on("data", (chunk: Buffer) => lines.push(...chunk.toString().trimEnd().split("\n")));
    const until = async (n: number) => {
      while (lines.length < n) await once(child.stdout!, "data");
    };
    const done = ended(child);
    await until(1);
    await service.stop();
    await service.start();
    const owner = { kind: OwnerKind.AGENT, id: "seen" };
    const metaJson = '{"n":9007199254740993}';
    await service.client.memory.remember({ owner, entry: { kind: Kind.SEMANTIC, text: "second", id: "b", metaJson } });
    await service.client.memory.forget({ owner, id: "a" });
    await until(3);
    child.kill("SIGINT");
    const { code, stderr } = await done;
    expect(code).toBe(130);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { type: "upserted", id: "a", kind: "semantic", text: "first", seq: 1 },
      { type: "upserted", id: "b", text: "second", seq: 2 },
      { type: "deleted", id: "a", kind: "semantic", seq: 3 },
    ]);
    expect(lines[1]).toContain(metaJson);
    expect(stderr).toContain("Connecting again");
    expect(stderr).not.toContain("error:");
  });

  it("ends at once at Ctrl-C while it waits for stdin", async () => {
    const child = start(["import", "agent/wait", "-"], { env: service.env });
    const done = ended(child);
    const lines = Array.from({ length: 10_000 }, (_, n) => JSON.stringify({ kind: "semantic", text: `waiting ${n}` }));
    child.stdin!.write(`${lines.join("\n")}\n`);
    const stored = async () => (await service.client.recall("agent/wait", { k: 1 })).entries.length > 0;
    while (!(await stored())) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGINT");
    expect(await done).toMatchObject({
      code: 130,
      stdout: "",
      stderr: expect.stringContaining("run it again to go on"),
    });
  });
});

describe("the help", { timeout: 60_000 }, () => {
  it("has examples for each command, says which ones there are, and suggests the one that was meant", async () => {
    const [help, none, typo, option, token, version] = await Promise.all([
      run(["--help"]),
      run([]),
      run(["recal", "agent/ada"]),
      run(["list", "agent/ada", "--limt", "3"]),
      run(["list", "agent/ada", "--token", "x"]),
      run(["--version"]),
    ]);
    expect(help).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("Exit status:") });
    expect(none).toMatchObject({ code: 2, stdout: "" });
    expect(none.stderr).toBe(help.stdout);
    expect(typo).toMatchObject({ code: 2, stderr: "error: unknown command 'recal'\nhint: Did you mean recall?\n" });
    expect(option).toMatchObject({ code: 2, stderr: "error: unknown option '--limt'\nhint: Did you mean --limit?\n" });
    expect(token).toMatchObject({ code: 2, stderr: expect.stringMatching(/hint: .*REVERIE_TOKEN.*--token-file/) });
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
