import type { DescMessage, DescMethod, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { ContextValues, Interceptor, StreamRequest, Transport, UnaryRequest } from "@connectrpc/connect";
import { createContextValues } from "@connectrpc/connect";
import type { ChannelOptions } from "@grpc/grpc-js";
import { Channel, credentials, Metadata } from "@grpc/grpc-js";
import type { Endpoint, TlsOptions } from "../address.js";
import { MAX_MESSAGE_BYTES, MIN_KEEPALIVE_MS } from "../limits.js";
import { CallSlot, pathOf } from "./call.js";
import type { HeadersInput } from "./metadata.js";
import { toMetadata } from "./metadata.js";
import { SlotPool } from "./slot-pool.js";
import { startStream } from "./stream.js";
import { runUnary } from "./unary.js";

export interface GrpcJsTransportOptions {
  /** Where the server is; see `parseAddress`. */
  readonly endpoint: Endpoint;
  /** Only read when the endpoint is secure. */
  readonly tls?: TlsOptions;
  /** Sent with every call, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** While calls are open, ping after this much silence. Milliseconds, default 30,000, at least 10,000. */
  readonly keepaliveMs?: number;
  /** Connect interceptors. Without any, calls take a leaner path. */
  readonly interceptors?: Interceptor[];
  /** More grpc-js channel options; they win over the defaults. */
  readonly channelOptions?: ChannelOptions;
}

/** A Connect transport over a grpc-js channel; watches have channels of their own. */
export interface GrpcJsTransport extends Transport {
  /** Cancels open calls and closes the connections. May be called twice. */
  close(): void;
}

/**
 * A Connect `Transport` that speaks gRPC through grpc-js: all four method kinds, deadlines, cancellation, metadata and
 * rich errors. Connects with the first call. Back-pressure goes both ways: a request message is pulled when the one
 * before was written, a response message is read when it is asked for. Errors are ConnectErrors.
 */
export function grpcJsTransport(options: GrpcJsTransportOptions): GrpcJsTransport {
  const channel = openChannel(options);
  const base = new Metadata();
  for (const [key, value] of Object.entries(options.headers ?? {})) base.set(key, value);
  const slot = new CallSlot(channel);
  const watches = new SlotPool(() => openChannel(options));
  const slotOf = (method: DescMethod) => (method.name === "Watch" ? watches.take() : slot);
  const interceptors = options.interceptors ?? [];

  return {
    unary(method, signal, timeoutMs, header, input, contextValues) {
      const message = create(method.input, input);
      if (interceptors.length === 0) {
        return runUnary(slot, method, signal, timeoutMs, toMetadata(header, base), message);
      }
      const run = (req: UnaryRequest) =>
        runUnary(slot, req.method, req.signal, timeoutMs, toMetadata(req.header, base), req.message);
      const request = { stream: false, ...requestOf(method, signal, header, contextValues), message } as UnaryRequest;
      return intercepted(interceptors, run as AnyCall)(request) as never;
    },
    stream(method, signal, timeoutMs, header, input, contextValues) {
      if (interceptors.length === 0) {
        return startStream(slotOf(method), method, signal, timeoutMs, toMetadata(header, base), input);
      }
      const run = (req: StreamRequest) =>
        startStream(slotOf(req.method), req.method, req.signal, timeoutMs, toMetadata(req.header, base), req.message);
      const message = created(method.input, input);
      const request = { stream: true, ...requestOf(method, signal, header, contextValues), message } as StreamRequest;
      return intercepted(interceptors, run as AnyCall)(request) as never;
    },
    close() {
      slot.close();
      watches.close();
    },
  };
}

type AnyCall = ReturnType<Interceptor>;

/** The first interceptor is the outermost. */
function intercepted(interceptors: readonly Interceptor[], run: AnyCall): AnyCall {
  return interceptors.reduceRight<AnyCall>((next, interceptor) => interceptor(next), run);
}

function requestOf(
  method: DescMethod,
  signal: AbortSignal | undefined,
  header: HeadersInput,
  contextValues: ContextValues | undefined,
) {
  return {
    service: method.parent,
    method,
    requestMethod: "POST",
    url: pathOf(method),
    signal: signal ?? new AbortController().signal,
    header: new Headers(header),
    contextValues: contextValues ?? createContextValues(),
  };
}

async function* created<I extends DescMessage>(schema: I, input: AsyncIterable<MessageInitShape<I>>) {
  for await (const item of input) yield create(schema, item);
}

function openChannel({ endpoint, tls = {}, keepaliveMs = 30_000, channelOptions }: GrpcJsTransportOptions): Channel {
  const pem = (value: string | Uint8Array | undefined) => (value === undefined ? null : Buffer.from(value));
  const creds = endpoint.secure
    ? credentials.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert))
    : credentials.createInsecure();
  return new Channel(endpoint.target, creds, {
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.keepalive_time_ms": Math.max(keepaliveMs, MIN_KEEPALIVE_MS),
    "grpc.keepalive_timeout_ms": 10_000,
    // Retries are ours: grpc-js's would answer write callbacks early and buffer up to 1 MiB a call.
    "grpc.enable_retries": 0,
    "grpc.service_config_disable_resolution": 1,
    // grpc-js waits 1 s, then up to 120 s, before it dials again; meanwhile every call fails.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 2_000,
    // A pool that all channels of the process share would share its reconnect back-off too.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_channelz": 0,
    ...(endpoint.loopback && { "grpc.enable_http_proxy": 0 }),
    ...(tls.serverName !== undefined && {
      "grpc.ssl_target_name_override": tls.serverName,
      "grpc.default_authority": tls.serverName,
    }),
    ...channelOptions,
  });
}
