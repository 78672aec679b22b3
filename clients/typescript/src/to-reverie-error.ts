import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@reverie/proto/rpc";
import type { ReverieErrorOptions, StatusName } from "./errors.js";
import { ReverieError } from "./errors.js";
import { CLIENT_CLOSED } from "./transport/call.js";

/** What a message about a failed call should name. */
export interface CallFacts {
  /** `host:port`. */
  readonly target: string;
  /** The method's name, such as `Remember`. */
  readonly method: string;
  /** The deadline, milliseconds; undefined when there is none. */
  readonly timeoutMs?: number | undefined;
}

const STATUS_NAMES: Readonly<Record<Code, StatusName>> = {
  [Code.Canceled]: "CANCELLED",
  [Code.Unknown]: "UNKNOWN",
  [Code.InvalidArgument]: "INVALID_ARGUMENT",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.NotFound]: "NOT_FOUND",
  [Code.AlreadyExists]: "ALREADY_EXISTS",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.ResourceExhausted]: "RESOURCE_EXHAUSTED",
  [Code.FailedPrecondition]: "FAILED_PRECONDITION",
  [Code.Aborted]: "ABORTED",
  [Code.OutOfRange]: "OUT_OF_RANGE",
  [Code.Unimplemented]: "UNIMPLEMENTED",
  [Code.Internal]: "INTERNAL",
  [Code.Unavailable]: "UNAVAILABLE",
  [Code.DataLoss]: "DATA_LOSS",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
};

/** Any failure of a call as a ReverieError. One that is or wraps a ReverieError comes back as that. */
export function toReverieError(thrown: unknown, facts: CallFacts): ReverieError {
  if (thrown instanceof ReverieError) return thrown;
  const error = ConnectError.from(thrown);
  if (error.cause instanceof ReverieError) return error.cause;
  const code = STATUS_NAMES[error.code] ?? "UNKNOWN";
  const info = error.findDetails(ErrorInfoSchema).find((detail) => detail.domain === "reverie");
  const violations = error
    .findDetails(BadRequestSchema)
    .flatMap((detail) => detail.fieldViolations)
    .map(({ field, description }) => ({ field, description }));
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  const retryAfterMs = delay && Math.max(0, Math.ceil(Number(delay.seconds) * 1_000 + delay.nanos / 1e6));
  const options: ReverieErrorOptions = { violations, retryAfterMs, cause: error };
  if (info) {
    const metadata = Object.fromEntries(Object.entries(info.metadata));
    return new ReverieError(code, info.reason, error.rawMessage || `${facts.method}: ${code}`, {
      ...options,
      metadata,
    });
  }
  const [reason, message] = explain(error, code, facts);
  return new ReverieError(code, reason, message, options);
}

/** For failures without ErrorInfo: made on this side, or by something that is no Reverie. */
function explain(error: ConnectError, code: StatusName, facts: CallFacts): [reason: string, message: string] {
  const { target, method, timeoutMs } = facts;
  const raw = error.rawMessage;
  switch (code) {
    case "CANCELLED":
      if (raw === CLIENT_CLOSED) {
        return ["CLIENT_CLOSED", `${method}: the client was closed. Make a new one with createMemoryClient().`];
      }
      return [
        "CANCELLED",
        `${method} was cancelled${raw ? `: ${raw}` : ""}. If it writes, it may have been carried out.`,
      ];
    case "DEADLINE_EXCEEDED": {
      const limit = timeoutMs === undefined ? "its deadline" : `its deadline of ${timeoutMs} ms`;
      // grpc-js says what it was waiting for.
      const unconnected = /waiting for|LB pick/i.test(raw) && !raw.includes("remote_addr");
      return [
        "DEADLINE_EXCEEDED",
        unconnected
          ? `${method} could not connect to ${target} within ${limit}. Check the address and that the service is running.`
          : `${method} at ${target} took longer than ${limit}. If it writes, it may have been carried out: send it again ` +
            "with the same id. Give a larger timeoutMs if this is expected.",
      ];
    }
    case "UNAVAILABLE":
      return unavailable(raw, facts);
    case "UNIMPLEMENTED":
      return [
        "UNIMPLEMENTED",
        `${target} has no ${method}${raw ? ` (${raw})` : ""}. Check that the address is memory-service's gRPC port ` +
          "(50051 by default) and that its version has this method.",
      ];
    case "UNAUTHENTICATED":
      return [
        "UNAUTHENTICATED",
        `${target} asks for another token${raw ? `: ${raw}` : ""}. Set the client's \`token\`.`,
      ];
    case "RESOURCE_EXHAUSTED":
      // grpc-js's words for both directions, and our own for requests.
      if (/larger than max|more than the \d+ of one message/.test(raw)) {
        return ["MESSAGE_TOO_LARGE", `${method}: ${raw}. A message holds 4 MiB at most: ask for or send less at once.`];
      }
      break;
    case "INVALID_ARGUMENT":
      return ["FIELD_INVALID", `${method}: ${raw || "an argument is invalid"}. Correct the request and send it again.`];
    default:
  }
  const hint = code === "INTERNAL" || code === "UNKNOWN" ? " Look at the service's log for the cause." : "";
  return ["UNKNOWN", `${method} at ${target} failed: ${code}${raw ? `: ${raw.replace(/\.$/, "")}` : ""}.${hint}`];
}

function unavailable(text: string, { target, method }: CallFacts): [reason: string, message: string] {
  // grpc-js adds an empty note, and OpenSSL a line break.
  const raw = text
    .replace(/\s+/g, " ")
    .replace(/[\s.]*Resolution note:[\s.]*$/, "")
    .trim();
  if (raw.includes("ECONNREFUSED")) {
    return [
      "CONNECTION_FAILED",
      `Nothing answers at ${target} (connection refused). Start the services with \`npm start\`, or give the client the ` +
        "address where memory-service listens.",
    ];
  }
  if (/^(?:No connection established|Name resolution failed)/.test(raw)) {
    const why = raw.replace(/^No connection established\. Last error: (?:Error: )?/, "");
    return [
      "CONNECTION_FAILED",
      `Could not connect to ${target}: ${why}. Check the address, that the service is running (\`npm start\` starts it ` +
        "locally), and that both sides use TLS or both don't.",
    ];
  }
  if (raw.startsWith("Stream refused")) {
    return ["CONNECTION_FAILED", `${target} refused the call (${raw}): it is shutting down or busy. Try again.`];
  }
  return [
    "CONNECTION_LOST",
    `The connection to ${target} was lost during ${method}${raw ? ` (${raw})` : ""}. If it writes, it may have been ` +
      "carried out: look, or send it again with the same id.",
  ];
}
