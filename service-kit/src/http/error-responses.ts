import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorFromJsonBytes, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { cancelled, connectErrorOf, toConnectError } from "../errors/normalize-error.js";
import { ReverieError } from "../errors.js";
import type { Guard, GuardedMethod } from "../rpc/guard.js";
import { connectLibraryError } from "./connect-handlers.js";
import type { HttpRequest, HttpResponse } from "./node-types.js";

/** Gives errors that Connect made before it reached the guard (size, JSON, compression) the contract's details. */
export async function withErrorInfo(response: UniversalServerResponse, guard: Guard): Promise<UniversalServerResponse> {
  const { header, body } = response;
  if (response.status < 400 || body === undefined || header === undefined) return response;
  if (header.get("content-type") !== "application/json" || header.has("content-encoding")) return response;
  const bytes = await collect(body as AsyncIterable<Uint8Array>);
  const mapped = mappedError(bytes, guard);
  if (mapped === undefined) return { ...response, body: iterate(bytes) };
  const json = errorToJsonBytes(mapped, undefined);
  header.set("content-length", String(json.byteLength));
  return { ...response, status: codeToHttpStatus(mapped.code), body: iterate(json) };
}

/** One line for what Connect answers without a word: a content type or an HTTP method that it doesn't take. */
export function withAdvice(response: UniversalServerResponse, method: GuardedMethod): UniversalServerResponse {
  const { status, body } = response;
  if (body !== undefined || (status !== 415 && status !== 405)) return response;
  const { isStream, desc } = method;
  const type = isStream
    ? `${desc.name} is a stream: use content-type: application/connect+json, or a client of Connect, gRPC or gRPC-Web.`
    : "Send content-type: application/json, or use a client of Connect, gRPC or gRPC-Web.";
  const header = new Headers(response.header);
  header.set("content-type", "text/plain; charset=utf-8");
  if (status === 405) header.set("allow", "POST");
  const text = status === 405 ? "Send a POST." : type;
  return { ...response, header, body: iterate(Buffer.from(`${text}\n`)) };
}

/** Answers a path that nobody serves, in the protocol that the request speaks. */
export function respondUnimplemented(request: HttpRequest, response: HttpResponse, path: string): void {
  const type = request.headers["content-type"] ?? "";
  if (request.method !== "POST" || !type.startsWith("application/")) {
    respondText(response, 404, "There is nothing here.");
    return;
  }
  const error = connectErrorOf(new ReverieError("UNIMPLEMENTED", `${path} is not served here.`));
  if (type.startsWith("application/grpc")) {
    const headers = new Headers();
    setTrailerStatus(headers, error);
    response.writeHead(200, { "content-type": type, ...Object.fromEntries(headers) });
    response.end();
    return;
  }
  response.writeHead(codeToHttpStatus(error.code), { "content-type": "application/json" });
  response.end(errorToJsonBytes(error, undefined));
}

/** A plain answer; the connection goes on only where HTTP/2 shares it. */
export function respondText(response: HttpResponse, status: number, text: string, type = "text/plain"): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { "content-type": `${type}; charset=utf-8`, "x-content-type-options": "nosniff" });
  response.end(`${text}\n`);
}

function mappedError(bytes: Uint8Array, guard: Guard): ConnectError | undefined {
  try {
    const error = errorFromJsonBytes(bytes, undefined, new ConnectError("not an error of Connect"));
    if (error.details.length > 0) return undefined;
    // Connect's words for a body that broke off: nobody is there to read this, and it is no bug.
    if (error.code === Code.Internal && error.rawMessage === "internal error") return connectErrorOf(cancelled());
    return toConnectError(connectLibraryError(error), guard.reportBug);
  } catch {
    return undefined;
  }
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* iterate(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
