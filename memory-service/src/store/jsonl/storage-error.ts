import { ReverieError } from "@reverie/service-kit/errors";
import { errorCode } from "./fs.js";
import type { StoreLog } from "./store-log.js";

export function isDiskFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "EFBIG"].includes(errorCode(error));
}

/** What a caller can act on is named; anything else stays as it is. */
export function asStorageError(error: unknown): unknown {
  if (isDiskFull(error)) {
    return new ReverieError(
      "DISK_FULL",
      "the disk or a quota is full: nothing was stored; free some space (forget and hard delete still work), then send it again",
      { retryAfterMs: 1000, cause: error },
    );
  }
  if (["EMFILE", "ENFILE", "ENOMEM"].includes(errorCode(error))) {
    return new ReverieError(
      "OVERLOADED",
      "the service is out of file descriptors or memory for now: nothing was done; try again",
      {
        retryAfterMs: 1000,
        cause: error,
      },
    );
  }
  return error;
}

/**
 * A step failed behind the one that can't be taken back: what was asked for may be done, or not last, so nothing may
 * say that it isn't.
 */
export class HalfDone extends Error {
  override readonly name = "HalfDone";
}

/** Runs what follows a step that can't be taken back. Throws what `asHalfDone` makes of an error. */
export async function afterwards<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw asHalfDone(error);
  }
}

/** HalfDone, but for errors that name themselves and don't say that nothing was done. */
export function asHalfDone(error: unknown): unknown {
  if (error instanceof ReverieError && !["DISK_FULL", "OVERLOADED", "DRAINING"].includes(error.reason)) return error;
  return new HalfDone("a change of the files was made, but maybe not durably", { cause: error });
}

/** What a caller is told of a failure: every error of the file system has a reason. */
export function asCallError(error: unknown, log: StoreLog, owner = ""): unknown {
  const named = asStorageError(error);
  if (!(named instanceof HalfDone) && !/^E[A-Z0-9]+$/.test(errorCode(named))) return named;
  const code = errorCode(named instanceof HalfDone ? named.cause : named);
  log.error({ ...(owner !== "" && { owner }), code }, "files could not be read or written");
  return new ReverieError(
    "LOG_STOPPED",
    "files could not be read or written; nothing of this call was acknowledged: try again, and have the operator look at the disk",
    { retryAfterMs: 1000, cause: error },
  );
}

/** Whether writes find room, said once a change in the log. */
export class DiskState {
  full = false;

  constructor(private readonly log: StoreLog) {}

  isFull(): void {
    if (!this.full)
      this.log.error(
        {},
        "the disk or a quota is full: nothing new is stored until there is space; forget and hard delete still work",
      );
    this.full = true;
  }

  works(): void {
    if (this.full) this.log.info({}, "the disk has space again");
    this.full = false;
  }
}
