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
