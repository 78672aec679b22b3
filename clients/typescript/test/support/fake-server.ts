import type { DescMessage, DescService, MessageInitShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ServerOptions, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { Metadata, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { InfoService } from "@reverie/proto/info";
import { MemoryService, OwnerService, TrashService } from "@reverie/proto/memory";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema, StatusSchema } from "@reverie/proto/rpc";

/** Handlers by method name, in grpc-js's own style; messages are protobuf-es ones (replies may be plain). */
export type Handlers = Record<string, (...args: never[]) => unknown>;

export interface FakeServer {
  readonly address: string;
  readonly port: number;
  /** Drops every connection and stops listening. */
  stop(): void;
}

const encode = (schema: DescMessage) => (message: unknown) =>
  Buffer.from(toBinary(schema, create(schema, message as MessageInitShape<DescMessage>)));

function definitionOf(service: DescService): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      {
        path: `/${service.typeName}/${method.name}`,
        requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
        responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
        requestSerialize: encode(method.input),
        requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
        responseSerialize: encode(method.output),
        responseDeserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
      },
    ]),
  );
}

export async function startFake(
  handlers: Handlers,
  {
    port = 0,
    credentials = ServerCredentials.createInsecure(),
    options = {},
    services = [MemoryService, OwnerService, TrashService, InfoService],
  }: { port?: number; credentials?: ServerCredentials; options?: ServerOptions; services?: DescService[] } = {},
): Promise<FakeServer> {
  const server = new Server({ "grpc.so_reuseport": 0, ...options });
  for (const service of services) {
    const mine = service.methods.filter((method) => method.localName in handlers);
    const names = new Set(mine.map((method) => method.localName));
    const definition = Object.entries(definitionOf(service)).filter(([name]) => names.has(name));
    const implementation = [...names].map((name) => [name, handlers[name]] as const);
    if (mine.length > 0) {
      server.addService(
        Object.fromEntries(definition),
        Object.fromEntries(implementation) as UntypedServiceImplementation,
      );
    }
  }
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, at) => (error ? reject(error) : resolve(at)));
  });
  return { address: `127.0.0.1:${bound}`, port: bound, stop: () => server.forceShutdown() };
}

export interface Rich {
  readonly reason: string;
  readonly metadata?: Record<string, string>;
  readonly violations?: { field: string; description: string }[];
  readonly retryAfterMs?: number;
}

/** What a Reverie service fails with. */
export function failure(code: status, message: string, rich?: Rich) {
  const metadata = new Metadata();
  if (rich) {
    const { reason, metadata: facts = {}, violations, retryAfterMs } = rich;
    const details = [
      anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason, domain: "reverie", metadata: facts })),
      ...(violations ? [anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations: violations }))] : []),
      ...(retryAfterMs === undefined
        ? []
        : [anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: durationFromMs(retryAfterMs) }))]),
    ];
    metadata.set(
      "grpc-status-details-bin",
      Buffer.from(toBinary(StatusSchema, create(StatusSchema, { code, message, details }))),
    );
  }
  return { code, details: message, metadata };
}

export const unavailable = (reason = "LOG_STOPPED", retryAfterMs?: number) =>
  failure(status.UNAVAILABLE, "try again", { reason, ...(retryAfterMs !== undefined && { retryAfterMs }) });
