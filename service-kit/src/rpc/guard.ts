import type { Registry } from "prom-client";
import { deadlineExceeded, draining, interrupted } from "../errors/normalize-error.js";
import { ReverieError } from "../errors.js";
import type { Logger } from "../log/logger.js";
import { MAX_METADATA_BYTES } from "./limits.js";
import { codeName, type MethodMetrics, RpcMetrics } from "./rpc-metrics.js";
import type { RpcMethod, RpcService } from "./rpc-service.js";
import type { TokenAuth } from "./token-auth.js";

/** A method as both listeners serve it. */
export interface GuardedMethod extends RpcMethod {
  readonly metrics: MethodMetrics;
  /** Takes a stream of requests. */
  readonly readsStream: boolean;
  /** Answers with a stream. */
  readonly writesStream: boolean;
  /** Either. */
  readonly isStream: boolean;
}

/** A call in flight, as drain sees it. */
export interface OpenCall {
  /** When the guard ends it at the latest, of `performance.now()`; Infinity: it has a timer of its own, or no limit. */
  readonly expiresAt: number;
  /** Ends the call with this error; does nothing when it has ended. */
  fail(error: ReverieError): void;
}

export interface GuardOptions {
  readonly auth: TokenAuth;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** What every call passes through, whichever listener it came to. */
export class Guard {
  readonly logger: Logger;
  readonly methods: ReadonlyMap<string, GuardedMethod>;
  readonly #auth: TokenAuth;
  readonly #calls = new Map<OpenCall, GuardedMethod>();
  readonly #debug: boolean;
  readonly #unknownMetrics: MethodMetrics;
  #draining = false;
  #whenIdle: (() => void)[] = [];

  constructor(services: readonly RpcService[], options: GuardOptions) {
    const metrics = new RpcMetrics(options.registry);
    this.logger = options.logger;
    this.#auth = options.auth;
    this.#debug = options.logger.isLevelEnabled("debug");
    this.#unknownMetrics = metrics.forMethod("unknown", "unknown");
    this.methods = new Map(
      services.flatMap((service) => service.methods.map((method) => [method.path, guarded(method, metrics)] as const)),
    );
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Throws when the call must not reach its handler. */
  admit(method: RpcMethod, authorization: string | null | undefined, metadataBytes: number): void {
    if (this.#draining) throw draining();
    if (metadataBytes > MAX_METADATA_BYTES) throw metadataTooLarge();
    if (!method.isPublic) this.#auth.check(authorization);
  }

  /** Stands for a method that nobody serves, to refuse, log and count it as one. */
  unknownMethod(path: string): GuardedMethod {
    const [any] = this.methods.values();
    if (any === undefined) throw new Error("no service is registered");
    return {
      ...any,
      path,
      metrics: this.#unknownMetrics,
      isPublic: true,
      readsStream: false,
      writesStream: false,
      isStream: false,
    };
  }

  checkToken(authorization: string | undefined): void {
    this.#auth.check(authorization);
  }

  opened(call: OpenCall, method: GuardedMethod): void {
    this.#calls.set(call, method);
    if (method.isStream) method.metrics.streamOpened();
  }

  /** `code` 0 is OK; `startedAt` is of `performance.now()`. */
  closed(call: OpenCall, method: GuardedMethod, code: number, startedAt: number, protocol: string): void {
    if (!this.#calls.delete(call)) return;
    const ms = performance.now() - startedAt;
    if (method.isStream) method.metrics.streamClosed();
    method.metrics.finished(code, ms / 1000);
    if (this.#debug) {
      this.logger.debug(
        { method: method.path, protocol, code: codeName(code), ms: Math.round(ms * 100) / 100 },
        "call",
      );
    }
    if (this.#calls.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  readonly reportBug = (error: unknown, errorId: string): void => {
    this.logger.error({ err: error, error_id: errorId }, "a call failed because of a bug");
  };

  /** Ends calls that sent no deadline and ran for the longest one allowed. Called every second or so. */
  sweep(now: number = performance.now()): void {
    for (const call of [...this.#calls.keys()]) if (call.expiresAt <= now) call.fail(deadlineExceeded());
  }

  /** From now on nothing is admitted; open streams end. */
  drain(): void {
    this.#draining = true;
    for (const [call, method] of [...this.#calls]) if (method.isStream) call.fail(ended(method));
  }

  /** Ends whatever is still in flight. */
  failAll(): void {
    for (const [call, method] of [...this.#calls]) call.fail(ended(method));
  }

  /** Resolves when no call is in flight. */
  idle(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }
}

/** What answers with a stream only reads; anything else may have changed something by now. */
function ended(method: GuardedMethod): ReverieError {
  return method.writesStream && !method.readsStream ? draining() : interrupted();
}

function guarded(method: RpcMethod, metrics: RpcMetrics): GuardedMethod {
  const { name, parent, methodKind } = method.desc;
  const readsStream = methodKind === "client_streaming" || methodKind === "bidi_streaming";
  const writesStream = methodKind === "server_streaming" || methodKind === "bidi_streaming";
  const isStream = readsStream || writesStream;
  return { ...method, metrics: metrics.forMethod(parent.typeName, name), readsStream, writesStream, isStream };
}

function metadataTooLarge(): ReverieError {
  return new ReverieError("METADATA_TOO_LARGE", `Request metadata is larger than ${MAX_METADATA_BYTES} bytes.`, {
    metadata: { limit: String(MAX_METADATA_BYTES) },
  });
}

/** Bytes of names and values, without HTTP/2's own pseudo headers. */
export function metadataBytes(headers: Readonly<Record<string, string | readonly string[] | undefined>>): number {
  let bytes = 0;
  for (const name in headers) {
    if (name.charCodeAt(0) === 58) continue;
    const value = headers[name];
    if (typeof value === "string") bytes += name.length + value.length;
    else if (value !== undefined) for (const item of value) bytes += name.length + item.length;
  }
  return bytes;
}
