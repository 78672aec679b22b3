import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { bindError } from "../bind-error.js";
import type { ListenAddress } from "../config/listen-address.js";
import type { Logger } from "../log/logger.js";
import { KEEPALIVE_INTERVAL_MS, MAX_DEADLINE_MS, MAX_STREAMS_PER_CONNECTION } from "../rpc/limits.js";
import type { TlsFiles } from "../tls-files.js";
import type { HttpRequest, HttpResponse } from "./node-types.js";
import { sniffProtocol } from "./protocol-sniffer.js";
import type { RequestHandler } from "./request-handler.js";
import { keepSessionAlive } from "./session-keepalive.js";

// How long peers have to close their connections before those are cut.
const CLOSE_MS = 250;
// Node counts a session's buffered bytes against this, MB; its default of 10 stops ten large messages.
const MAX_SESSION_MEMORY_MB = 128;
const HEADERS_TIMEOUT_MS = 15_000;
// How often Node looks for requests that are late.
const TIMEOUT_CHECK_MS = 5000;

export interface HttpListenerOptions {
  readonly handler: RequestHandler;
  readonly tls: TlsFiles | undefined;
  readonly logger: Logger;
}

/** HTTP/1.1 and HTTP/2 on one port: in clear text by looking at the first bytes, over TLS by ALPN. */
export class HttpListener {
  readonly #logger: Logger;
  readonly #server: net.Server;
  readonly #http1: http.Server;
  readonly #http2: http2.Http2Server | http2.Http2SecureServer;
  readonly #sockets = new Set<net.Socket>();
  readonly #sessions = new Set<http2.ServerHttp2Session>();

  constructor(options: HttpListenerOptions) {
    this.#logger = options.logger;
    const onRequest = (request: HttpRequest, response: unknown): void =>
      options.handler(request, response as HttpResponse);
    const http1Options = {
      headersTimeout: HEADERS_TIMEOUT_MS,
      // A client stream may take as long as its deadline.
      requestTimeout: MAX_DEADLINE_MS + 60_000,
      keepAliveTimeout: KEEPALIVE_INTERVAL_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    };
    const http2Options = {
      settings: { maxConcurrentStreams: MAX_STREAMS_PER_CONNECTION },
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
    };
    if (options.tls === undefined) {
      this.#http1 = http.createServer(http1Options, onRequest);
      this.#http2 = http2.createServer(http2Options, onRequest);
      this.#server = net.createServer({ noDelay: true }, (socket) => this.#onClearSocket(socket));
    } else {
      const tls = { cert: options.tls.cert, key: options.tls.key };
      this.#http1 = http.createServer(http1Options, onRequest);
      this.#http2 = http2.createSecureServer({ ...http2Options, ...tls, allowHTTP1: true, ...http1Options }, onRequest);
      // Its constructor takes Node's defaults for these.
      const { headersTimeout, requestTimeout, keepAliveTimeout } = http1Options;
      Object.assign(this.#http2, { headersTimeout, requestTimeout, keepAliveTimeout });
      this.#server = this.#http2;
    }
    this.#server.on("connection", (socket: net.Socket) => this.#track(socket));
    this.#http2.on("session", (session: http2.ServerHttp2Session) => this.#onSession(session));
    this.#http2.on("sessionError", (error: unknown) => this.#logger.debug({ err: error }, "an HTTP/2 session failed"));
    for (const server of [this.#http1, this.#http2]) server.on("clientError", onClientError);
    this.#http2.on("tlsClientError", (_error: unknown, socket: net.Socket) => socket.destroy());
  }

  async start(address: ListenAddress): Promise<ListenAddress> {
    await new Promise<void>((resolve, reject) => {
      const onError = (error: Error): void => reject(bindError("httpAddress", address, error));
      this.#server.once("error", onError);
      this.#server.listen({ host: address.host, port: address.port }, () => {
        this.#server.off("error", onError);
        resolve();
      });
    });
    this.#server.on("error", (error: unknown) => this.#logger.error({ err: error }, "the HTTP listener failed"));
    // It never listens itself; this starts its watch over slow headers.
    if (this.#server !== this.#http2) this.#http1.emit("listening");
    const bound = this.#server.address();
    return { host: address.host, port: typeof bound === "object" && bound !== null ? bound.port : address.port };
  }

  /** Every call has ended by now. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#http1.close(() => {});
    for (const session of this.#sessions) session.close();
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS);
    });
    await Promise.race([closed, timeout]);
    clearTimeout(timer);
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #track(socket: net.Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.setKeepAlive(true, KEEPALIVE_INTERVAL_MS);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  #onClearSocket(socket: net.Socket): void {
    sniffProtocol(socket, (protocol) => {
      const server = protocol === "http2" ? this.#http2 : this.#http1;
      server.emit("connection", socket);
    });
  }

  #onSession(session: http2.ServerHttp2Session): void {
    this.#sessions.add(session);
    keepSessionAlive(session);
    session.once("close", () => this.#sessions.delete(session));
  }
}

function onClientError(_error: unknown, socket: net.Socket): void {
  if (socket.writable && !socket.destroyed) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  else socket.destroy();
}
