import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { type Client, credentials, makeClientConstructor, type ServiceDefinition } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { service as healthDefinition } from "grpc-health-check";
import { afterEach, expect, test } from "vitest";
import { startTestServer, stopTestServers, type TestServer } from "./support/test-server.js";

afterEach(stopTestServers);

interface HealthClient extends Client {
  check(request: { service: string }, callback: (error: Error | null, response: { status: string }) => void): void;
  watch(request: { service: string }): AsyncIterable<{ status: string }> & { on(event: "error", f: () => void): void };
}

interface ReflectionClient extends Client {
  serverReflectionInfo(): NodeJS.ReadWriteStream & { write(request: object): boolean };
}

function healthClient(server: TestServer): HealthClient {
  const Constructor = makeClientConstructor(healthDefinition as ServiceDefinition, "Health");
  return new Constructor(`127.0.0.1:${server.grpcPort}`, credentials.createInsecure()) as unknown as HealthClient;
}

function check(client: HealthClient, service: string): Promise<string> {
  return new Promise((resolve, reject) =>
    client.check({ service }, (error, response) => (error === null ? resolve(response.status) : reject(error))),
  );
}

test("health follows the service's own, by name, and says NOT_SERVING when draining", async () => {
  let ok = true;
  const health = () => ({ ok, message: "" });
  const server = await startTestServer({ remember: () => new Promise(() => {}) }, { health, healthIntervalMs: 20 });
  const client = healthClient(server);
  for (const name of ["", "reverie.memory.v1.MemoryService", "reverie.info.v1.InfoService"]) {
    expect(await check(client, name)).toBe("SERVING");
  }
  await expect(check(client, "no.Such")).rejects.toThrow(/NOT_FOUND/);

  const seen: string[] = [];
  const watch = client.watch({ service: "" });
  watch.on("error", () => {});
  const watching = (async () => {
    for await (const { status } of watch) seen.push(status);
  })().catch(() => {});
  await expect.poll(() => seen).toEqual(["SERVING"]);
  ok = false;
  await expect.poll(() => seen).toEqual(["SERVING", "NOT_SERVING"]);
  ok = true;
  await expect.poll(() => seen).toHaveLength(3);
  await server.stop(100);
  await watching;
  expect(seen).toEqual(["SERVING", "NOT_SERVING", "SERVING", "NOT_SERVING"]);
  client.close();
});

test("reflection v1 and v1alpha list every service and give every file whole", async () => {
  const server = await startTestServer({});
  const definitions: ServiceDefinition[] = [];
  new ReflectionService({}).addToServer({ addService: (definition) => void definitions.push(definition as never) });
  expect(definitions).toHaveLength(2);
  for (const definition of definitions) {
    const Constructor = makeClientConstructor(definition, "ServerReflection");
    const client = new Constructor(
      `127.0.0.1:${server.grpcPort}`,
      credentials.createInsecure(),
    ) as unknown as ReflectionClient;
    const stream = client.serverReflectionInfo();
    const answers: Record<string, { service?: { name: string }[]; fileDescriptorProto?: string[] }>[] = [];
    stream.on("data", (answer) => answers.push(answer));
    stream.on("error", () => {});
    for (const request of [
      { listServices: "*" },
      { fileContainingSymbol: "reverie.memory.v1.MemoryService" },
      { fileByFilename: "buf/validate/validate.proto" },
      { fileByFilename: "google/protobuf/descriptor.proto" },
      { fileContainingSymbol: "grpc.health.v1.Health" },
      { fileContainingSymbol: "google.rpc.ErrorInfo" },
    ]) {
      stream.write(request);
    }
    await expect.poll(() => answers).toHaveLength(6);
    expect(answers[0]!.listServicesResponse!.service!.map(({ name }) => name).sort()).toEqual([
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "reverie.info.v1.InfoService",
      "reverie.memory.v1.MemoryService",
      "reverie.memory.v1.TrashService",
    ]);
    const files = answers.slice(1).map((answer) => answer.fileDescriptorResponse!.fileDescriptorProto!);
    const [memory] = files[0]!.map((base64) => fromBinary(FileDescriptorProtoSchema, Buffer.from(base64, "base64")));
    expect(memory!.name).toBe("reverie/memory/v1/memory_service.proto");
    const request = memory!.messageType.find(({ name }) => name === "RememberRequest")!;
    // The validation rules are an extension, which this registry-less decoding keeps as an unknown field.
    expect(request.field[0]!.options!.$unknown).toHaveLength(1);
    for (const file of files) expect(file.length).toBeGreaterThan(0);
    client.close();
  }
});

test("buf curl finds and calls a method through reflection alone", async () => {
  const server = await startTestServer({ remember: ({ entry }) => ({ entry: { id: entry!.id }, seq: 3n }) });
  const buf = fileURLToPath(new URL("../../node_modules/.bin/buf", import.meta.url));
  const call = (data: object, method = "reverie.memory.v1.MemoryService/Remember") =>
    promisify(execFile)(buf, [
      "curl",
      "--protocol=grpc",
      "--http2-prior-knowledge",
      `--data=${JSON.stringify(data)}`,
      `http://127.0.0.1:${server.grpcPort}/${method}`,
    ]);
  const owner = { kind: "OWNER_KIND_AGENT", id: "ada" };
  const { stdout } = await call({ owner, entry: { kind: "KIND_EPISODIC", text: "x", id: "a" } });
  expect(JSON.parse(stdout)).toEqual({ entry: { id: "a" }, seq: "3" });
  await expect(call({ owner })).rejects.toThrow(/entry: is required/);
  expect(JSON.parse((await call({}, "grpc.health.v1.Health/Check")).stdout)).toEqual({ status: "SERVING" });
  const list = await call({}, "grpc.health.v1.Health/List");
  expect(JSON.parse(list.stdout)).toMatchObject({ statuses: { "": { status: "SERVING" } } });
});
