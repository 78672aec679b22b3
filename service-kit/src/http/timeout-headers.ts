import type { IncomingHttpHeaders } from "node:http";
import { allowedTimeoutMs, parseConnectTimeout, parseGrpcTimeout } from "../rpc/deadline.js";
import type { GuardedMethod } from "../rpc/guard.js";

/** Connect refuses long timeouts and has no default, so it is given what we allow. Malformed ones are left to it. */
export function clampTimeoutHeaders(headers: IncomingHttpHeaders, method: GuardedMethod): void {
  const isGrpc = headers["content-type"]?.startsWith("application/grpc") ?? false;
  const name = isGrpc ? "grpc-timeout" : "connect-timeout-ms";
  const text = headers[name];
  const asked = typeof text === "string" ? (isGrpc ? parseGrpcTimeout : parseConnectTimeout)(text) : undefined;
  if (text !== undefined && asked === undefined) return;
  const allowed = allowedTimeoutMs(asked, method.hasLongestDeadline);
  if (allowed === undefined) delete headers[name];
  else if (!isGrpc) headers[name] = String(Math.ceil(allowed));
  // 8 digits are the most that the header may have.
  else headers[name] = allowed < 1e8 ? `${Math.ceil(allowed)}m` : `${Math.ceil(allowed / 1000)}S`;
}
