import { ExitCode } from "./exit-code.js";

const SIGNALS = { SIGINT: ExitCode.INTERRUPTED, SIGTERM: ExitCode.TERMINATED } as const;

/** Turns the first SIGINT or SIGTERM into an abort, so that what was begun is cleaned up; the second one leaves at once. */
export class Interrupt {
  /** The exit code of the signal that came. */
  exitCode: ExitCode | undefined;
  readonly #controller = new AbortController();

  constructor() {
    for (const [signal, exitCode] of Object.entries(SIGNALS)) {
      process.on(signal, () => {
        if (this.exitCode !== undefined) process.exit(exitCode);
        this.exitCode = exitCode;
        this.#controller.abort(new Error(`interrupted by ${signal}`));
      });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }
}
