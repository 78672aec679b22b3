import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import type { Registry } from "prom-client";
import type { Guard, GuardedMethod } from "../rpc/guard.js";
import { connectHandlers } from "./connect-handlers.js";
import { drainedBody } from "./drained-body.js";
import { respondText, respondUnimplemented, withAdvice, withErrorInfo } from "./error-responses.js";
import type { HostCheck } from "./host-check.js";
import type { HttpRequest, HttpResponse } from "./node-types.js";
import { clampTimeoutHeaders } from "./timeout-headers.js";

/** What `/healthz` says. */
export interface HealthReport {
  readonly ready: boolean;
  /** For people; "" when all is well. */
  readonly message: string;
}

export interface RequestHandlerOptions {
  readonly guard: Guard;
  readonly metrics: Registry;
  readonly health: () => HealthReport;
  readonly hostCheck: HostCheck;
}

/** Serves one HTTP request of either version; never throws. */
export type RequestHandler = (request: HttpRequest, response: HttpResponse) => void;

export function createRequestHandler(options: RequestHandlerOptions): RequestHandler {
  const { guard } = options;
  const handlers = connectHandlers(guard);

  function dispatch(request: HttpRequest, response: HttpResponse): void {
    const verdict = options.hostCheck("authority" in request ? request.authority : request.headers.host);
    if (verdict !== "ok") {
      if (verdict === "malformed") respondText(response, 400, "The Host or :authority of the request is malformed.");
      else respondText(response, 403, "This address doesn't answer to that host name. See httpAllowedHosts.");
      return;
    }
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const method = guard.methods.get(path);
    if (method === undefined) {
      servePage(request, response, path);
      return;
    }
    clampTimeoutHeaders(request.headers, method);
    const isGrpc = request.headers["content-type"]?.startsWith("application/grpc") ?? false;
    const handler = (isGrpc ? handlers.grpc : handlers.connect).get(path);
    if (handler === undefined) respondUnimplemented(request, response, path);
    else serveCall(handler, method, request, response);
  }

  function serveCall(
    handler: UniversalHandler,
    method: GuardedMethod,
    request: HttpRequest,
    response: HttpResponse,
  ): void {
    const universal = universalRequestFromNodeRequest(request, response, undefined, undefined);
    const body = drainedBody(universal.body as AsyncIterable<Uint8Array>, () => request.destroy());
    handler({ ...universal, body })
      .then((answer) => withErrorInfo(withAdvice(answer, method), guard))
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch((error: unknown) => {
        // The caller is gone, as a rule; the call itself was counted and logged.
        guard.logger.debug({ err: error }, "a response could not be written");
        if (!response.headersSent) respondText(response, 500, "The response could not be written.");
        else response.destroy();
      });
  }

  function servePage(request: HttpRequest, response: HttpResponse, path: string): void {
    if (request.method !== "GET" && request.method !== "HEAD") {
      respondUnimplemented(request, response, path);
      return;
    }
    if (path === "/livez") respondText(response, 200, JSON.stringify({ live: true }), "application/json");
    else if (path === "/healthz") {
      const health = options.health();
      const report = { live: true, ready: health.ready, message: health.message };
      respondText(response, health.ready ? 200 : 503, JSON.stringify(report), "application/json");
    } else if (path === "/metrics") serveMetrics(request, response);
    else respondText(response, 404, "There is nothing here.");
  }

  function serveMetrics(request: HttpRequest, response: HttpResponse): void {
    try {
      guard.checkToken(request.headers.authorization);
    } catch {
      respondText(response, 401, "Send authorization: Bearer <token>.");
      return;
    }
    options.metrics
      .metrics()
      .then((text) => {
        response.writeHead(200, { "content-type": options.metrics.contentType });
        response.end(text);
      })
      .catch((error: unknown) => {
        guard.logger.error({ err: error }, "metrics could not be collected");
        respondText(response, 500, "Metrics could not be collected; see the log.");
      });
  }

  return (request, response) => {
    request.on("error", () => {});
    response.on("error", () => {});
    try {
      dispatch(request, response);
    } catch (error) {
      // Connect's adapter throws at once on requests that it can't make a URL of.
      guard.logger.debug({ err: error }, "a request was malformed");
      respondText(response, 400, "The request is malformed.");
    }
  };
}
