import type { ErrorReason } from "@reverie/proto/info";

/** gRPC's status names. */
export type StatusName =
  | "CANCELLED"
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "OUT_OF_RANGE"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DATA_LOSS"
  | "UNAUTHENTICATED";

/** Reasons that a server names: the contract's `ErrorReason`. */
export type ServerReason = Exclude<keyof typeof ErrorReason, "UNSPECIFIED">;

/** Reasons that only the client names. */
export type ClientReason =
  /** The address is not `host:port`, `http://…` or `https://…`. */
  | "ADDRESS_INVALID"
  /** An option of the client is wrong. */
  | "OPTION_INVALID"
  /** A token would travel unencrypted to another machine. */
  | "TOKEN_INSECURE"
  /** No connection could be made: nothing of the call was sent. */
  | "CONNECTION_FAILED"
  /** The connection was lost: the call may have been carried out. */
  | "CONNECTION_LOST"
  /** close() was called. */
  | "CLIENT_CLOSED"
  /** A stream ended without its summary: what came is not everything. */
  | "STREAM_INCOMPLETE"
  /** The scope is none of the known forms. */
  | "SCOPE_INVALID"
  /** The scope needs a value of the context that isn't there. */
  | "SCOPE_UNRESOLVED"
  /** The server answered something that this client doesn't know. */
  | "RESPONSE_INVALID"
  /** The server gave no reason; see `code`. */
  | "UNKNOWN";

export interface FieldViolation {
  /** The field's path, such as `entry.meta_json`. */
  readonly field: string;
  readonly description: string;
}

export interface ReverieErrorOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly FieldViolation[];
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** Everything that goes wrong in this client. Branch on `reason`, else on `code`; never on the message. */
export class ReverieError extends Error {
  override readonly name = "ReverieError";
  /** The gRPC status name, such as `FAILED_PRECONDITION`. */
  readonly code: StatusName;
  /** A name of the contract's `ErrorReason`, one of the client's own, or one of a newer server. */
  readonly reason: ServerReason | ClientReason | (string & {});
  /** The facts of this failure, such as `limit`; see the reason's comment in the contract. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The rules that the request breaks; empty unless `code` is INVALID_ARGUMENT. */
  readonly violations: readonly FieldViolation[];
  /** How long the server asks to wait before the next try, milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: StatusName,
    reason: ServerReason | ClientReason | (string & {}),
    message: string,
    options: ReverieErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.reason = reason;
    this.metadata = options.metadata ?? {};
    this.violations = options.violations ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }

  /**
   * The same call may succeed later, unchanged. Whether repeating is safe depends on the call: see `retrySafety`. The
   * client has tried again by itself where it is.
   */
  get retryable(): boolean {
    return this.code === "UNAVAILABLE" || this.code === "DEADLINE_EXCEEDED" || this.retryAfterMs !== undefined;
  }
}

/** A hub's owner can't come back from the trash because it is live, or a file is in the way. The cause says which. */
export class TrashRestoreConflictError extends Error {
  override readonly name = "TrashRestoreConflictError";
  readonly code = "trash_restore_conflict";
}

/** A hub's memory config is wrong. Nothing was sent. */
export class ServiceConfigError extends Error {
  override readonly name = "ServiceConfigError";
  readonly code = "service_config_invalid";
}

/** For arguments that are wrong before anything is sent. */
export function invalidArgument(
  reason: ServerReason | ClientReason,
  message: string,
  options: ReverieErrorOptions = {},
): ReverieError {
  return new ReverieError("INVALID_ARGUMENT", reason, message, options);
}
