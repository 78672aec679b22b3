/** What the command's exit status says. Documented in docs/cli.md and in `reverie --help`. */
export const ExitCode = {
  OK: 0,
  /** Failed for another reason; of `check`: problems remain. */
  FAILED: 1,
  /** The command line, or a value in it, is wrong; of `check`: it can't be checked. */
  USAGE: 2,
  /** There is no such memory or trash ref. */
  NOT_FOUND: 3,
  /** The service can't be reached, is stopping, or took too long. */
  UNAVAILABLE: 4,
  /** The token is missing, unknown, or may not do this. */
  NOT_ALLOWED: 5,
  /** It exists already, or the state of things is against it. */
  CONFLICT: 6,
  /** Some of it was done, some was refused. */
  PARTLY: 7,
  /** Ctrl-C. */
  INTERRUPTED: 130,
  /** SIGTERM. */
  TERMINATED: 143,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];
