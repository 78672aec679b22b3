import { ExitCode } from "./exit-code.js";

export interface CliErrorOptions {
  /** The next step, a sentence or two. */
  readonly hint?: string;
  /** Names the failure for programs. */
  readonly reason?: string;
  readonly cause?: unknown;
}

/** A failure that the command line itself finds. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly hint: string | undefined;
  readonly reason: string;

  constructor(
    readonly exitCode: ExitCode,
    message: string,
    { hint, reason = "FAILED", cause }: CliErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.hint = hint;
    this.reason = reason;
  }
}

/** The command line, or what came in with it, is wrong. */
export function usageError(message: string, hint?: string): CliError {
  return new CliError(ExitCode.USAGE, message, { reason: "USAGE", ...(hint !== undefined && { hint }) });
}

/** A file that can't be read or written; the system says why. */
export function fileError(what: string, error: unknown, exitCode: ExitCode = ExitCode.USAGE): CliError {
  const why = error instanceof Error ? error.message : String(error);
  return new CliError(exitCode, `${what}: ${why}`, {
    reason: "FILE",
    hint: "Check the path, the permissions and the free space.",
    cause: error,
  });
}

/** Whoever read stdout has gone, as `head` does: no failure of ours. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}
