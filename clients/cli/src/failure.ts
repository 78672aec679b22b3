import { type FieldViolation, ReverieError } from "@reverie/client";
import { CliError } from "./cli-error.js";
import { ExitCode } from "./exit-code.js";
import { FIRST_SENTENCE_SAYS_IT, hintFor } from "./hints.js";

/** What went wrong, as it is shown. */
export interface Failure {
  readonly exitCode: ExitCode;
  readonly message: string;
  readonly hint?: string | undefined;
  /** A name of the contract's ErrorReason, or one of this side. */
  readonly reason: string;
  /** gRPC's status name, where the service or the connection failed. */
  readonly code?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly FieldViolation[];
}

const EXIT_CODES: Readonly<Record<string, ExitCode>> = {
  INVALID_ARGUMENT: ExitCode.USAGE,
  NOT_FOUND: ExitCode.NOT_FOUND,
  UNAVAILABLE: ExitCode.UNAVAILABLE,
  DEADLINE_EXCEEDED: ExitCode.UNAVAILABLE,
  UNAUTHENTICATED: ExitCode.NOT_ALLOWED,
  PERMISSION_DENIED: ExitCode.NOT_ALLOWED,
  ALREADY_EXISTS: ExitCode.CONFLICT,
  FAILED_PRECONDITION: ExitCode.CONFLICT,
  ABORTED: ExitCode.CONFLICT,
  OUT_OF_RANGE: ExitCode.CONFLICT,
};

export function toFailure(error: unknown): Failure {
  if (error instanceof CliError) {
    const { exitCode, message, hint, reason } = error;
    return { exitCode, message, hint, reason };
  }
  if (error instanceof ReverieError) {
    const { code, reason, metadata, violations } = error;
    return {
      exitCode: EXIT_CODES[code] ?? ExitCode.FAILED,
      message: messageOf(error),
      hint: hintFor(error),
      reason,
      code,
      ...(Object.keys(metadata).length > 0 && { metadata }),
      ...(violations.length > 0 && { violations }),
    };
  }
  const message = error instanceof Error ? error.message || error.name : String(error);
  return {
    exitCode: ExitCode.FAILED,
    message: `Something unexpected happened: ${message}`,
    hint: "This is a bug of the command. Report it with what you ran; REVERIE_DEBUG=1 prints the stack.",
    reason: "INTERNAL",
  };
}

/** `<thread>:error:<code>:SSL routines:<function>:<reason>:<file>:<line>:`, of which people can use the reason. */
const OPENSSL_ERROR = /\b[0-9A-F]{8,16}:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):\S*/;

function messageOf({ reason, message }: ReverieError): string {
  const text = FIRST_SENTENCE_SAYS_IT.has(reason) ? (message.split(/\. (?=[A-Z])/)[0] as string) : message;
  const plain = text.replace(OPENSSL_ERROR, "$1");
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}
