import type { Http2Server, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import {
  Server,
  ServerCredentials,
  type ServerInterceptingCall,
  type ServerInterceptor,
  setLogger,
} from "@grpc/grpc-js";
import { bindError } from "../bind-error.js";
import { formatAddress, type ListenAddress } from "../config/listen-address.js";
import { ReverieError } from "../errors.js";
import { allowedTimeoutMs, parseGrpcTimeout } from "../rpc/deadline.js";
import type { Guard, GuardedMethod } from "../rpc/guard.js";
import {
  KEEPALIVE_INTERVAL_MS,
  KEEPALIVE_TIMEOUT_MS,
  MAX_MESSAGE_BYTES,
  MAX_STREAMS_PER_CONNECTION,
} from "../rpc/limits.js";
import type { RpcService } from "../rpc/rpc-service.js";
import type { TlsFiles } from "../tls-files.js";
import { GrpcCall } from "./grpc-call.js";
import type { HealthService } from "./health-service.js";
import { addReflection } from "./reflection-service.js";

// How long peers have to close their connections after GOAWAY before those are cut.
const CLOSE_MS = 250;

// What we need of grpc-js beyond its types. Checked when a listener is made, so that an upgrade can't break it quietly.
interface GrpcInternals {
  createHttp2Server(credentials: ServerCredentials): Http2Server;
  _retrieveHandler(path: string): unknown;
}

interface Arriving {
  readonly headers: IncomingHttpHeaders;
  refusal: ReverieError | undefined;
}

export interface GrpcListenerOptions {
  readonly guard: Guard;
  readonly services: readonly RpcService[];
  readonly health: HealthService;
  readonly tls: TlsFiles | undefined;
}

/** Native gRPC, by grpc-js. */
export class GrpcListener {
  readonly #guard: Guard;
  readonly #tls: TlsFiles | undefined;
  readonly #server: Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  // Set by a stream's first listener and taken by our interceptor within the same event.
  #arriving: Arriving | undefined;

  constructor(options: GrpcListenerOptions) {
    this.#guard = options.guard;
    this.#tls = options.tls;
    this.#server = new Server({
      interceptors: [this.#intercept],
      "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
      "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
      "grpc.max_concurrent_streams": MAX_STREAMS_PER_CONNECTION,
      "grpc.keepalive_time_ms": KEEPALIVE_INTERVAL_MS,
      "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
      "grpc.enable_channelz": 0,
    });
    // grpc-js writes to the console otherwise; what matters reaches us as errors too.
    setLogger({ error: (message: unknown) => this.#guard.logger.debug({ grpc: String(message) }, "grpc-js") });
    this.#hook();
    for (const method of options.guard.methods.values()) this.#register(method);
    options.health.addTo(this.#server);
    addReflection(
      this.#server,
      options.services.map((service) => service.desc),
    );
  }

  async start(address: ListenAddress): Promise<ListenAddress> {
    const credentials = this.#tls
      ? ServerCredentials.createSsl(null, [{ cert_chain: this.#tls.cert, private_key: this.#tls.key }])
      : ServerCredentials.createInsecure();
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(formatAddress(address), credentials, (error, bound) => {
        if (error === null) resolve(bound);
        else reject(bindError("grpcAddress", address, error));
      });
    });
    return { host: address.host, port };
  }

  /** Every call has ended by now. */
  async stop(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve())),
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, CLOSE_MS);
      }),
    ]);
    clearTimeout(timer);
    this.#server.forceShutdown();
    for (const session of this.#sessions) session.destroy();
  }

  #hook(): void {
    const internals = this.#server as unknown as GrpcInternals;
    const { createHttp2Server, _retrieveHandler: retrieve } = internals;
    if (typeof createHttp2Server !== "function" || typeof retrieve !== "function") {
      throw new Error("this version of @grpc/grpc-js is not one that service-kit knows");
    }
    internals.createHttp2Server = (credentials) => {
      const server = createHttp2Server.call(internals, credentials);
      server.prependListener("stream", this.#onStream);
      server.on("session", this.#onSession);
      return server;
    };
    internals._retrieveHandler = (path) => retrieve.call(internals, path) ?? this.#unknownHandler(path);
  }

  #register(method: GuardedMethod): void {
    // Bytes pass through grpc-js untouched; GrpcCall encodes and decodes. The handler is never called.
    this.#server.register(method.path, () => {}, identity, identity, "bidi");
  }

  readonly #onSession = (session: ServerHttp2Session): void => {
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
  };

  readonly #onStream = (_stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    this.#arriving = { headers, refusal: this.#setTimeoutHeader(headers) };
  };

  // grpc-js overflows on long timeouts and has no limit of its own, so it is given what we allow.
  #setTimeoutHeader(headers: IncomingHttpHeaders): ReverieError | undefined {
    const method = this.#guard.methods.get(headers[":path"] ?? "");
    if (method === undefined) return undefined;
    const text = headers["grpc-timeout"];
    const asked = text === undefined ? undefined : parseGrpcTimeout(String(text));
    delete headers["grpc-timeout"];
    if (text !== undefined && asked === undefined) {
      const rule = "must be 1 to 8 digits and one of H, M, S, m, u, n";
      return new ReverieError("FIELD_INVALID", `grpc-timeout ${rule}.`, {
        violations: [{ field: "grpc-timeout", description: rule }],
      });
    }
    // A call that asks for none costs no timer: the guard's sweep ends it.
    const allowed = asked === undefined ? undefined : allowedTimeoutMs(asked, method.hasLongestDeadline);
    // 8 digits are the most that the header may have.
    if (allowed !== undefined) {
      headers["grpc-timeout"] = allowed < 1e8 ? `${Math.ceil(allowed)}m` : `${Math.ceil(allowed / 1000)}S`;
    }
    return undefined;
  }

  #unknownHandler(path: string): unknown {
    if (this.#arriving !== undefined) {
      this.#arriving.refusal = new ReverieError("UNIMPLEMENTED", `${path} is not served here.`);
    }
    return { func: () => {}, serialize: identity, deserialize: identity, type: "bidi", path };
  }

  readonly #intercept: ServerInterceptor = (definition, base) => {
    const arriving = this.#arriving;
    this.#arriving = undefined;
    if (arriving === undefined) return base as ServerInterceptingCall;
    const { path } = definition;
    let method = this.#guard.methods.get(path);
    if (method === undefined) {
      // Health and reflection are grpc-js's own business.
      if (arriving.refusal === undefined) return base as ServerInterceptingCall;
      method = this.#guard.unknownMethod(path);
    }
    const call = new GrpcCall(base, method, this.#guard, arriving.headers, arriving.refusal);
    // grpc-js calls nothing but start: GrpcCall passes no event on.
    return call as unknown as ServerInterceptingCall;
  };
}

function identity(bytes: Buffer): Buffer {
  return bytes;
}
