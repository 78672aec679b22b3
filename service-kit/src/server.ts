import { collectDefaultMetrics, Registry } from "prom-client";
import { formatAddress } from "./config/listen-address.js";
import { GrpcListener } from "./grpc/grpc-listener.js";
import { HealthService } from "./grpc/health-service.js";
import { createHostCheck } from "./http/host-check.js";
import { HttpListener } from "./http/http-listener.js";
import { createRequestHandler } from "./http/request-handler.js";
import type { ListenOptions } from "./listen-options.js";
import type { Logger } from "./log/logger.js";
import { Guard } from "./rpc/guard.js";
import type { RpcService } from "./rpc/rpc-service.js";

/** Addresses as bound, `host:port`. */
export interface BoundAddresses {
  readonly grpc?: string;
  readonly http?: string;
}

export interface StopOptions {
  /** How long calls in flight may take to end, milliseconds. Default: the server's `drainMs`. */
  readonly graceMs?: number;
}

/** What `health` of a service says. */
export interface ServiceHealth {
  readonly ok: boolean;
  /** For people; "" when all is well. */
  readonly message: string;
}

export interface ServerOptions extends ListenOptions {
  readonly logger: Logger;
  readonly services: readonly RpcService[];
  /** Asked every `healthIntervalMs` and for each `/healthz`; must be quick. Default: always well. */
  readonly health?: () => ServiceHealth;
  /** Milliseconds. Default 1000. */
  readonly healthIntervalMs?: number;
  /** Metrics of the process (memory, event loop, …). Default true. */
  readonly processMetrics?: boolean;
}

/** Both listeners of a service. */
export interface RpcServer {
  /** Register the service's own metrics here. */
  readonly metrics: Registry;
  /** Throws a `ConfigError` when an address can't be bound; nothing is open then. */
  start(): Promise<BoundAddresses>;
  /** Refuses new work, ends streams, waits for calls in flight, closes. May be called twice; never hangs. */
  stop(options?: StopOptions): Promise<void>;
}

export function createServer(options: ServerOptions): RpcServer {
  return new TwoListeners(options);
}

class TwoListeners implements RpcServer {
  readonly metrics = new Registry();
  readonly #options: ServerOptions;
  readonly #guard: Guard;
  readonly #healthService: HealthService;
  readonly #grpc: GrpcListener | undefined;
  readonly #http: HttpListener | undefined;
  #timers: NodeJS.Timeout[] = [];
  #stopping: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    const { services, logger, tls } = options;
    if (options.processMetrics ?? true) collectDefaultMetrics({ register: this.metrics });
    this.#guard = new Guard(services, { auth: options.auth, logger, registry: this.metrics });
    this.#healthService = new HealthService(services.map((service) => service.desc.typeName));
    if (options.grpc !== undefined) {
      this.#grpc = new GrpcListener({ guard: this.#guard, services, health: this.#healthService, tls });
    }
    if (options.http !== undefined) {
      const handler = createRequestHandler({
        guard: this.#guard,
        metrics: this.metrics,
        health: () => this.#health(),
        hostCheck: createHostCheck(options.http.host, options.allowedHosts),
      });
      this.#http = new HttpListener({ handler, tls, logger });
    }
  }

  async start(): Promise<BoundAddresses> {
    const { grpc, http } = this.#options;
    try {
      const grpcBound = grpc && (await this.#grpc?.start(grpc));
      const httpBound = http && (await this.#http?.start(http));
      this.#updateHealth();
      this.#timers = [
        setInterval(() => this.#updateHealth(), this.#options.healthIntervalMs ?? 1000),
        setInterval(() => this.#guard.sweep(), 1000),
      ];
      for (const timer of this.#timers) timer.unref();
      return {
        ...(grpcBound && { grpc: formatAddress(grpcBound) }),
        ...(httpBound && { http: formatAddress(httpBound) }),
      };
    } catch (error) {
      await this.stop({ graceMs: 0 });
      throw error;
    }
  }

  stop(options: StopOptions = {}): Promise<void> {
    this.#stopping ??= this.#stop(options.graceMs ?? this.#options.drainMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#healthService.set(false);
    this.#guard.drain();
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([this.#guard.idle(), grace]);
    clearTimeout(timer);
    this.#guard.failAll();
    await Promise.all([this.#grpc?.stop(), this.#http?.stop()]);
  }

  #health(): { ready: boolean; message: string } {
    if (this.#guard.draining) return { ready: false, message: "shutting down" };
    try {
      const health = this.#options.health?.() ?? { ok: true, message: "" };
      return { ready: health.ok, message: health.message };
    } catch (error) {
      this.#options.logger.error({ err: error }, "the service's health check failed");
      return { ready: false, message: "the health check failed; see the log" };
    }
  }

  #updateHealth(): void {
    if (this.#stopping === undefined) this.#healthService.set(this.#health().ready);
  }
}
