import type { ErrorReason } from "@reverie/proto/info";

/** The name of an `ErrorReason` of the contract. */
export type Reason = Exclude<keyof typeof ErrorReason, "UNSPECIFIED">;

export interface FieldViolation {
  /** The field's path, such as `entry.meta_json`. */
  readonly field: string;
  readonly description: string;
}

export interface ReverieErrorOptions {
  /** The facts of this failure, for programs. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly FieldViolation[];
  /** When waiting helps, for how long, milliseconds. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** A failure that the contract names. Its message tells a developer what to do and holds no path of the server. */
export class ReverieError extends Error {
  override readonly name = "ReverieError";
  readonly reason: Reason;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly FieldViolation[];
  readonly retryAfterMs: number | undefined;

  constructor(reason: Reason, message: string, options: ReverieErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.metadata = options.metadata ?? {};
    this.violations = options.violations ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }
}
