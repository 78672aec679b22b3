import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type Message,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { type Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import {
  type ChannelCredentials,
  Client,
  type ClientReadableStream,
  type ClientWritableStream,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { MemoryService } from "@reverie/proto/memory";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema, StatusSchema } from "@reverie/proto/rpc";
import type { TestServer } from "./test-server.js";

export const owner = { kind: 1, id: "ada" } as const;
export const rememberRequest = { owner, entry: { kind: 1, text: "hello", id: "a" } } as const;

/** What a caller learns of a failure, whatever the protocol. */
export interface Failure {
  readonly code: Code;
  readonly message: string;
  readonly reason: string;
  readonly domain: string;
  readonly metadata: Record<string, string>;
  readonly violations: { field: string; description: string }[];
  readonly retryMs: number | undefined;
}

export interface CallOptions {
  readonly headers?: Record<string, string>;
  readonly timeoutMs?: number;
}

/** One way to call the MemoryService. */
export interface Caller {
  readonly name: string;
  readonly unary: (method: "remember" | "getEntry", request: object, options?: CallOptions) => Promise<Message>;
  readonly recall: (request: object, options?: CallOptions) => Promise<number>;
  readonly rememberMany: (requests: Iterable<object>, options?: CallOptions) => Promise<Message>;
  readonly close: () => void;
}

const methods = MemoryService.method;

export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** What a client must know of a server. */
export type Ports = Pick<TestServer, "grpcPort" | "httpPort">;

/** grpc-js on the gRPC listener, and every protocol of the Connect listener. */
export function allCallers(server: Ports): Caller[] {
  const baseUrl = `http://127.0.0.1:${server.httpPort}`;
  const h2 = { baseUrl, httpVersion: "2" as const };
  const h1 = { baseUrl, httpVersion: "1.1" as const };
  return [
    grpcJsCaller(server),
    connectCaller("connect over h1", createConnectTransport({ ...h1, useBinaryFormat: true })),
    connectCaller("connect json over h1", createConnectTransport({ ...h1, useBinaryFormat: false })),
    connectCaller("connect over h2", createConnectTransport({ ...h2, useBinaryFormat: true })),
    connectCaller("grpc-web over h1", createGrpcWebTransport(h1)),
    connectCaller("grpc over h2", createGrpcTransport(h2)),
  ];
}

export function rawClient(server: Ports, channel: ChannelCredentials = credentials.createInsecure()): Client {
  return new Client(`127.0.0.1:${server.grpcPort}`, channel, {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
  });
}

export function encoder(method: DescMethod): (message: object) => Buffer {
  return (message) => Buffer.from(toBinary(method.input, create(method.input, message as MessageInitShape<never>)));
}

export function decoder(method: DescMethod): (bytes: Buffer) => Message {
  return (bytes) => fromBinary(method.output, bytes);
}

export function toMetadata(headers: Record<string, string> = {}): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

function grpcJsCaller(server: Ports): Caller {
  const client = rawClient(server);
  const options = (call: CallOptions = {}) =>
    call.timeoutMs === undefined ? {} : { deadline: Date.now() + call.timeoutMs };
  return {
    name: "grpc-js",
    unary: (name, request, call) =>
      new Promise((resolve, reject) => {
        const method = methods[name];
        client.makeUnaryRequest(
          pathOf(method),
          encoder(method),
          decoder(method),
          request,
          toMetadata(call?.headers),
          options(call),
          (error, response) => (error === null ? resolve(response as Message) : reject(error)),
        );
      }),
    recall: (request, call) => {
      const method = methods.recall;
      const stream = client.makeServerStreamRequest(
        pathOf(method),
        encoder(method),
        decoder(method),
        request,
        toMetadata(call?.headers),
        options(call),
      );
      return count(stream);
    },
    rememberMany: (requests, call) =>
      new Promise((resolve, reject) => {
        const method = methods.rememberMany;
        const stream: ClientWritableStream<object> = client.makeClientStreamRequest(
          pathOf(method),
          encoder(method),
          decoder(method),
          toMetadata(call?.headers),
          options(call),
          (error, response) => (error === null ? resolve(response as Message) : reject(error)),
        );
        stream.on("error", () => {});
        for (const request of requests) stream.write(request);
        stream.end();
      }),
    close: () => client.close(),
  };
}

function connectCaller(name: string, transport: Transport): Caller {
  const client = createClient(MemoryService, transport);
  return {
    name,
    unary: (method, request, call) => client[method](request, call),
    recall: async (request, call) => {
      let messages = 0;
      for await (const _ of client.recall(request, call)) messages++;
      return messages;
    },
    rememberMany: (requests, call) => client.rememberMany(iterate(requests), call),
    close: () => {},
  };
}

async function count(stream: ClientReadableStream<Message>): Promise<number> {
  let messages = 0;
  for await (const _ of stream) messages++;
  return messages;
}

async function* iterate(requests: Iterable<object>): AsyncGenerator<object> {
  yield* requests;
}

/** Waits for the failure; fails itself when there is none. */
export async function failureOf(call: Promise<unknown>): Promise<Failure> {
  try {
    await call;
  } catch (error) {
    return describeFailure(error);
  }
  throw new Error("the call succeeded");
}

export function describeFailure(error: unknown): Failure {
  if (error instanceof ConnectError) {
    const info = error.findDetails(ErrorInfoSchema)[0];
    const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
    return {
      code: error.code,
      message: error.rawMessage,
      reason: info?.reason ?? "",
      domain: info?.domain ?? "",
      metadata: info?.metadata ?? {},
      violations: error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [],
      retryMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
    };
  }
  const { code, details, metadata } = error as ServiceError;
  const bytes = metadata?.get("grpc-status-details-bin")[0];
  const parts = bytes === undefined ? [] : fromBinary(StatusSchema, bytes as Buffer).details;
  const part = <Desc extends DescMessage>(schema: Desc): MessageShape<Desc> | undefined =>
    parts.map((any) => anyUnpack(any, schema)).find((message) => message !== undefined);
  const info = part(ErrorInfoSchema);
  const delay = part(RetryInfoSchema)?.retryDelay;
  return {
    code: code as number as Code,
    message: details,
    reason: info?.reason ?? "",
    domain: info?.domain ?? "",
    metadata: info?.metadata ?? {},
    violations: part(BadRequestSchema)?.fieldViolations ?? [],
    retryMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
  };
}
