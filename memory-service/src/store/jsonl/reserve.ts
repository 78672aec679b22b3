import { ownerFileMode } from "./directories.js";
import { errorCode, type Fs, O_CREAT, O_NOFOLLOW, O_RDWR, writeAll } from "./fs.js";
import { isDiskFull } from "./storage-error.js";
import type { StoreLog } from "./store-log.js";

/** Less than this isn't worth keeping aside. */
const SMALLEST_BYTES = 8 * 1024;
/** What must fit for a disk not to be full. */
const PROBE_BYTES = 64 * 1024;

/** Space kept aside so that Forget, HardDelete and the sweep work on a full disk. */
export class Reserve {
  private spent = true;

  constructor(
    private readonly fs: Fs,
    private readonly path: string,
    private readonly bytes: number,
    private readonly log: StoreLog,
  ) {}

  /**
   * Sets the space aside, or again after it was spent. On a disk that is too small for all of it, a quarter to a half
   * of what is free. A disk that has none left is no error.
   */
  async fill(): Promise<void> {
    if (!this.spent || this.bytes === 0) return;
    try {
      const fd = await this.fs.open(this.path, O_RDWR | O_CREAT | O_NOFOLLOW, ownerFileMode);
      try {
        await this.fillWhatFits(fd);
        this.spent = false;
      } catch (error) {
        await this.fs.ftruncate(fd, 0);
        throw error;
      } finally {
        await this.fs.close(fd);
      }
    } catch (error) {
      this.log.warn({ code: errorCode(error) }, "no space could be set aside for forgetting on a full disk");
    }
  }

  private async fillWhatFits(fd: number): Promise<void> {
    for (let bytes = this.bytes; ; bytes /= 2) {
      try {
        await this.extend(fd, Math.ceil(bytes));
        // What fits only just would leave no room for anything else.
        if (bytes < this.bytes) await this.fs.ftruncate(fd, Math.ceil(bytes / 2));
        await this.fs.fsync(fd);
        return;
      } catch (error) {
        if (!isDiskFull(error) || bytes < SMALLEST_BYTES) throw error;
        await this.fs.ftruncate(fd, 0);
      }
    }
  }

  private async extend(fd: number, bytes: number): Promise<void> {
    const zeros = Buffer.alloc(64 * 1024);
    for (let at = this.fs.fstatSync(fd).size; at < bytes; )
      at += await this.fs.write(fd, zeros.subarray(0, Math.min(zeros.length, bytes - at)), at);
  }

  /** Whether a write finds room now. */
  async hasRoom(): Promise<boolean> {
    const path = `${this.path}.probe`;
    try {
      const fd = await this.fs.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, ownerFileMode);
      try {
        await writeAll(this.fs, fd, Buffer.alloc(PROBE_BYTES), 0);
        await this.fs.fsync(fd);
        return true;
      } finally {
        await this.fs.close(fd);
        await this.fs.unlink(path);
      }
    } catch {
      return false;
    }
  }

  /** Gives the space to the disk. False when there was none. */
  async spend(): Promise<boolean> {
    if (this.spent) return false;
    const fd = await this.fs.open(this.path, O_RDWR | O_NOFOLLOW, ownerFileMode);
    try {
      await this.fs.ftruncate(fd, 0);
    } finally {
      await this.fs.close(fd);
    }
    this.spent = true;
    this.log.warn({}, "the disk is full; the space kept for forgetting is being used");
    return true;
  }
}
