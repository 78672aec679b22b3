import { randomBytes } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "@reverie/proto/rpc";
import { type Reason, ReverieError } from "../errors.js";
import { boundedText } from "./bounded-text.js";
import { ERROR_DOMAIN, errorDetails, MAX_MESSAGE_BYTES } from "./error-details.js";
import { reasonCode } from "./reason-codes.js";

/** Called once for each bug, with the id that the caller sees. */
export type ReportBug = (error: unknown, errorId: string) => void;

// What the frameworks throw, in our terms. A code that is missing here was no caller's fault: a bug.
const frameworkReasons: Partial<Record<Code, Reason>> = {
  [Code.InvalidArgument]: "FIELD_INVALID",
  [Code.ResourceExhausted]: "MESSAGE_TOO_LARGE",
  [Code.Unimplemented]: "UNIMPLEMENTED",
  [Code.Canceled]: "CANCELLED",
  [Code.Aborted]: "CANCELLED",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
};

/** Anything thrown, as an error of the contract. Only a bug is reported. */
export function toReverieError(thrown: unknown, report: ReportBug): ReverieError {
  if (thrown instanceof ReverieError) {
    if (thrown.reason !== "INTERNAL" || thrown.metadata.error_id !== undefined) return thrown;
    return bug(thrown, report);
  }
  if (thrown instanceof ConnectError) {
    const reason = frameworkReasons[thrown.code];
    return reason === undefined ? bug(thrown, report) : new ReverieError(reason, thrown.rawMessage);
  }
  if (thrown instanceof Error) {
    if (thrown.name === "AbortError") {
      return thrown.cause instanceof ReverieError ? thrown.cause : cancelled();
    }
    if (thrown.name === "TimeoutError") return deadlineExceeded();
  }
  return bug(thrown, report);
}

/** The one factory of what goes on the wire, for both listeners. */
export function toConnectError(thrown: unknown, report: ReportBug): ConnectError {
  if (thrown instanceof ConnectError && hasOurInfo(thrown)) return thrown;
  return connectErrorOf(toReverieError(thrown, report));
}

export function connectErrorOf(error: ReverieError): ConnectError {
  const message = boundedText(error.message, MAX_MESSAGE_BYTES);
  return new ConnectError(message, reasonCode[error.reason], undefined, errorDetails(error));
}

export function cancelled(): ReverieError {
  return new ReverieError("CANCELLED", "The caller went away.");
}

export function deadlineExceeded(): ReverieError {
  return new ReverieError(
    "DEADLINE_EXCEEDED",
    "The deadline passed. If the call writes, it may have been carried out: send it again with the same id.",
  );
}

export function draining(): ReverieError {
  return new ReverieError("DRAINING", "The service is shutting down. Try again.", { retryAfterMs: 1000 });
}

export function interrupted(): ReverieError {
  return new ReverieError(
    "INTERRUPTED",
    "The service shut down while the call ran. If it writes, it may have been carried out, in part or whole: send the same again, with the same ids.",
    { retryAfterMs: 1000 },
  );
}

export function messageTooLarge(direction: "request" | "response", limitBytes: number): ReverieError {
  const advice = direction === "request" ? "Send smaller messages." : "Ask for less at a time.";
  return new ReverieError("MESSAGE_TOO_LARGE", `A ${direction} message is larger than ${limitBytes} bytes. ${advice}`, {
    metadata: { limit: String(limitBytes) },
  });
}

function hasOurInfo(error: ConnectError): boolean {
  return error.findDetails(ErrorInfoSchema).some((info) => info.domain === ERROR_DOMAIN);
}

function bug(thrown: unknown, report: ReportBug): ReverieError {
  const errorId = randomBytes(8).toString("hex");
  report(thrown, errorId);
  return new ReverieError("INTERNAL", `Something went wrong here. The log has it under ${errorId}.`, {
    metadata: { error_id: errorId },
    cause: thrown,
  });
}
