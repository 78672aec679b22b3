import { Code } from "@connectrpc/connect";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const codeNames: Readonly<Record<number, string>> = {
  0: "OK",
  ...Object.fromEntries(
    Object.entries(Code)
      .filter(([, code]) => typeof code === "number")
      .map(([name, code]) => [code, name.replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase()]),
  ),
  [Code.Canceled]: "CANCELLED",
};

/** The gRPC name of a status, such as `NOT_FOUND`. */
export function codeName(code: number): string {
  return codeNames[code] ?? "UNKNOWN";
}

/** What is measured of one method. */
export interface MethodMetrics {
  /** Code 0 is OK. */
  finished(code: number, seconds: number): void;
  streamOpened(): void;
  streamClosed(): void;
}

export class RpcMetrics {
  readonly #calls: Counter;
  readonly #seconds: Histogram;
  readonly #streams: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#calls = new Counter({
      name: "reverie_rpc_calls_total",
      help: "Finished calls by method and status",
      labelNames: ["service", "method", "code"],
      registers,
    });
    this.#seconds = new Histogram({
      name: "reverie_rpc_duration_seconds",
      help: "How long calls took; a stream counts until it ends",
      labelNames: ["service", "method"],
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
      registers,
    });
    this.#streams = new Gauge({
      name: "reverie_rpc_open_streams",
      help: "Streaming calls that are open now",
      labelNames: ["service", "method"],
      registers,
    });
  }

  /** Label lookups are done here, once, and not on every call. */
  forMethod(service: string, method: string): MethodMetrics {
    const labels = { service, method };
    const seconds = this.#seconds.labels(labels);
    const streams = this.#streams.labels(labels);
    const byCode = new Map<number, Counter.Internal>();
    const counter = (code: number): Counter.Internal => {
      let found = byCode.get(code);
      if (found === undefined) {
        found = this.#calls.labels({ ...labels, code: codeName(code) });
        byCode.set(code, found);
      }
      return found;
    };
    return {
      finished: (code, took) => {
        counter(code).inc();
        seconds.observe(took);
      },
      streamOpened: () => streams.inc(),
      streamClosed: () => streams.dec(),
    };
  }
}
