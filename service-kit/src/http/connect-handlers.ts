import type { DescMethod, DescMethodClientStreaming, Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  type HandlerContext,
  type Interceptor,
  type MethodImpl,
} from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { cancelled, messageTooLarge, toConnectError } from "../errors/normalize-error.js";
import { ReverieError } from "../errors.js";
import type { Guard, GuardedMethod } from "../rpc/guard.js";
import { MAX_DEADLINE_MS, MAX_MESSAGE_BYTES } from "../rpc/limits.js";
import { undecodable, validateRequest } from "../rpc/request-validator.js";
import { ConnectCall } from "./connect-call.js";
import { checkResponseSize } from "./message-size.js";

type One = (request: Message, context: HandlerContext) => unknown;
type Many = (requests: AsyncIterable<Message>, context: HandlerContext) => unknown;

/** Connect's handlers of every guarded method, by path. */
export interface ConnectHandlers {
  readonly connect: ReadonlyMap<string, UniversalHandler>;
  /** gRPC and gRPC-Web. */
  readonly grpc: ReadonlyMap<string, UniversalHandler>;
}

export function connectHandlers(guard: Guard): ConnectHandlers {
  const options = {
    readMaxBytes: MAX_MESSAGE_BYTES,
    jsonOptions: {
      // A misspelt field would be dropped without a word, and with it what it held.
      ignoreUnknownFields: false,
      // Bytes that are no UTF-8 would be stored as U+FFFD; protobuf's binary form refuses them, too.
      textDecoder: new TextDecoder("utf-8", { fatal: true }),
    },
    // checkResponseSize comes first; JSON may take six bytes for one.
    writeMaxBytes: 6 * MAX_MESSAGE_BYTES + 1024,
    // Timeouts are clamped before Connect sees them; those of methods without a longest deadline pass.
    maxTimeoutMs: Math.max(MAX_DEADLINE_MS, 2 ** 31 - 1),
    acceptCompression: [compressionGzip, compressionBrotli],
    interceptors: [mapErrors(guard)],
  };
  const connect = createConnectRouter({ ...options, grpc: false, grpcWeb: false });
  const grpc = createConnectRouter({ ...options, connect: false });
  for (const method of guard.methods.values()) {
    register(connect, method.desc, guardedImpl(guard, method));
    if (method.desc.methodKind === "unary") {
      // As a client stream of one message, so that bytes which make no message fail inside the guard.
      register(grpc, asClientStreaming(method.desc), guardedSingle(guard, method));
    } else register(grpc, method.desc, guardedImpl(guard, method));
  }
  return { connect: byPath(connect), grpc: byPath(grpc) };
}

/** Errors of Connect's own reading and writing, in the contract's terms. */
export function connectLibraryError(error: unknown): unknown {
  if (isBrokenConnection(error)) return cancelled();
  if (!(error instanceof ConnectError) || error.details.length > 0) return error;
  const text = error.rawMessage;
  if (error.code === Code.ResourceExhausted) {
    return messageTooLarge(text.includes("writeMaxBytes") ? "response" : "request", MAX_MESSAGE_BYTES);
  }
  if (error.code === Code.InvalidArgument || text.startsWith("parse binary") || text.startsWith("protocol error")) {
    return undecodable(text);
  }
  return error;
}

function isBrokenConnection(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return (
    code === "ECONNRESET" || code === "EPIPE" || code === "ERR_STREAM_PREMATURE_CLOSE" || code.startsWith("ERR_HTTP2_")
  );
}

function mapErrors(guard: Guard): Interceptor {
  return (next) => async (request) => {
    try {
      return await next(request);
    } catch (error) {
      throw toConnectError(connectLibraryError(error), guard.reportBug);
    }
  };
}

function register(router: ConnectRouter, desc: DescMethod, impl: unknown): void {
  router.rpc(desc, impl as MethodImpl<DescMethod>);
}

function byPath(router: ConnectRouter): ReadonlyMap<string, UniversalHandler> {
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

function asClientStreaming(desc: DescMethod): DescMethodClientStreaming {
  return { ...desc, methodKind: "client_streaming" } as DescMethodClientStreaming;
}

function guardedImpl(guard: Guard, method: GuardedMethod): One | Many {
  switch (method.desc.methodKind) {
    case "unary":
      return (request: Message, context: HandlerContext) =>
        runOne(new ConnectCall(guard, method, context), method, () => Promise.resolve(request));
    case "server_streaming":
      return (request: Message, context: HandlerContext) =>
        streamOut(guard, method, context, (call) => {
          validateRequest(method.desc.input, request);
          return method.handler(request, call.context);
        });
    case "client_streaming":
      return (requests: AsyncIterable<Message>, context: HandlerContext) =>
        runMany(new ConnectCall(guard, method, context), method, requests);
    case "bidi_streaming":
      return (requests: AsyncIterable<Message>, context: HandlerContext) =>
        streamOut(guard, method, context, (call) => method.handler(validated(call, method, requests), call.context));
  }
}

function guardedSingle(guard: Guard, method: GuardedMethod): Many {
  return (requests, context) => runOne(new ConnectCall(guard, method, context), method, () => single(requests));
}

async function single(requests: AsyncIterable<Message>): Promise<Message> {
  let found: Message | undefined;
  try {
    for await (const request of requests) {
      if (found !== undefined) throw new ReverieError("UNIMPLEMENTED", "This method takes one message, not more.");
      found = request;
    }
  } catch (error) {
    throw connectLibraryError(error);
  }
  if (found === undefined) throw new ReverieError("UNIMPLEMENTED", "This method takes one message; none came.");
  return found;
}

async function runOne(call: ConnectCall, method: GuardedMethod, read: () => Promise<Message>): Promise<unknown> {
  try {
    const request = await call.race(read());
    validateRequest(method.desc.input, request);
    const response = await call.race(Promise.resolve(method.handler(request, call.context)));
    checkResponseSize(method.desc.output, response);
    call.succeeded();
    return response;
  } catch (error) {
    throw call.failed(error);
  }
}

async function runMany(call: ConnectCall, method: GuardedMethod, requests: AsyncIterable<Message>): Promise<unknown> {
  try {
    const response = await call.race(Promise.resolve(method.handler(validated(call, method, requests), call.context)));
    checkResponseSize(method.desc.output, response);
    call.succeeded();
    return response;
  } catch (error) {
    throw call.failed(error);
  }
}

async function* streamOut(
  guard: Guard,
  method: GuardedMethod,
  context: HandlerContext,
  invoke: (call: ConnectCall) => unknown,
): AsyncGenerator<unknown> {
  const call = new ConnectCall(guard, method, context);
  try {
    const responses = (invoke(call) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    call.responds(responses);
    for (;;) {
      const result = await call.race(responses.next());
      if (result.done) break;
      checkResponseSize(method.desc.output, result.value);
      yield result.value;
    }
    call.succeeded();
  } catch (error) {
    throw call.failed(error);
  } finally {
    // Does nothing when the call has ended; else Connect stopped pulling.
    call.abandoned();
  }
}

async function* validated(
  call: ConnectCall,
  method: GuardedMethod,
  requests: AsyncIterable<Message>,
): AsyncGenerator<Message> {
  const messages = requests[Symbol.asyncIterator]();
  for (;;) {
    let result: IteratorResult<Message>;
    try {
      result = await call.race(messages.next());
    } catch (error) {
      throw connectLibraryError(error);
    }
    if (result.done) return;
    validateRequest(method.desc.input, result.value);
    yield result.value;
  }
}
