import type { IncomingHttpHeaders } from "node:http2";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type ContextValues, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";

/** Connect's handler context over a grpc-js call. Most handlers touch little of it, so all is made on demand. */
export class GrpcHandlerContext implements HandlerContext {
  readonly method: DescMethod;
  readonly protocolName = "grpc";
  readonly requestMethod = "POST";
  readonly #headers: IncomingHttpHeaders;
  readonly #deadlineMs: number;
  #controller: AbortController | undefined;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #values: ContextValues | undefined;
  #abortReason: unknown;
  #aborted = false;

  /** `deadlineMs` is epoch milliseconds; Infinity: none. */
  constructor(method: DescMethod, headers: IncomingHttpHeaders, deadlineMs: number) {
    this.method = method;
    this.#headers = headers;
    this.#deadlineMs = deadlineMs;
  }

  get service(): DescService {
    return this.method.parent;
  }

  get url(): string {
    return `http://${this.#headers[":authority"] ?? "localhost"}${this.#headers[":path"] ?? ""}`;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  // A getter, so that a destructured timeoutMs works and a call that doesn't ask pays for no closure.
  get timeoutMs(): () => number | undefined {
    const deadlineMs = this.#deadlineMs;
    return () => (deadlineMs === Number.POSITIVE_INFINITY ? undefined : deadlineMs - Date.now());
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= toHeaders(this.#headers);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  get values(): ContextValues {
    this.#values ??= createContextValues();
    return this.#values;
  }

  /** What the handler set; undefined when it set nothing. */
  sentHeader(): Metadata | undefined {
    return this.#responseHeader && toMetadata(this.#responseHeader);
  }

  /** What the handler set; undefined when it set nothing. */
  sentTrailer(): Metadata | undefined {
    return this.#responseTrailer && toMetadata(this.#responseTrailer);
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }
}

function toHeaders(headers: IncomingHttpHeaders): Headers {
  const result = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(":") || value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) result.append(name, item);
  }
  return result;
}

function toMetadata(headers: Headers): Metadata {
  const metadata = new Metadata();
  headers.forEach((value, name) => {
    metadata.set(name, name.endsWith("-bin") ? Buffer.from(value, "base64") : value);
  });
  return metadata;
}
