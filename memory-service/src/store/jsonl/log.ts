import { ReverieError } from "@reverie/service-kit/errors";
import type { Kind } from "../store.js";
import { type Directories, ownerFileMode } from "./directories.js";
import { type Fs, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR, writeAll } from "./fs.js";
import { decodeLine, type EntryLine, isComplete, type Range } from "./line.js";
import { logLines } from "./log-lines.js";
import { LogState } from "./log-state.js";
import { TimeSlice } from "./time-slice.js";
import { countTornTails, keepTornTail } from "./torn-tail.js";

/** Erased at once. */
const ERASE_BYTES = 1024 * 1024;
/** Shows how many entries the rest of a log may hold. */
const SAMPLE_BYTES = 1024 * 1024;
/** How long replaying may keep the event loop, milliseconds. */
const SLICE_MS = 8;

/** What is read is parsed or copied before anything else runs, so one buffer serves all logs. */
const scratch = Buffer.allocUnsafe(64 * 1024);

export interface LogOptions {
  readonly fs: Fs;
  readonly directories: Directories;
  readonly now: () => number;
}

/** One log file and what is known of it. */
export class Log {
  state = new LogState();
  tornTails = 0;
  /** The file isn't there until the first entry comes. */
  exists = false;
  private fd = -1;
  private inode = 0;

  constructor(
    readonly kind: Kind,
    readonly directory: string,
    private readonly options: LogOptions,
  ) {}

  get path(): string {
    return `${this.directory}/${this.kind}.jsonl`;
  }

  get tornPath(): string {
    return `${this.path}.torn`;
  }

  /** Opens an existing file and replays it; without one there is nothing to do. */
  async open(): Promise<void> {
    const { fs } = this.options;
    this.tornTails = await countTornTails(fs, this.tornPath);
    const found = fs.lstatSync(this.path);
    if (found === undefined) return;
    if (!found.isFile()) throw unsafe(this.kind);
    this.fd = await fs.open(this.path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, ownerFileMode);
    this.exists = true;
    try {
      const stat = fs.fstatSync(this.fd);
      if (!stat.isFile()) throw unsafe(this.kind);
      this.inode = stat.ino;
      const { erase, tail } = await this.replay(stat.size);
      const replaced = await this.settleTail(tail, stat.size);
      if (replaced !== undefined) erase.push(replaced);
      // What is served from now on must survive a power cut, whoever wrote it; what replaces a range, before the range goes.
      await fs.fdatasync(this.fd);
      if (erase.length > 0) {
        await this.erase(erase);
        await fs.fdatasync(this.fd);
      }
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Makes the file, durably in its directory. */
  async create(): Promise<void> {
    const { fs, directories } = this.options;
    await directories.ensure(this.directory);
    this.fd = await fs.open(this.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, ownerFileMode);
    this.inode = fs.fstatSync(this.fd).ino;
    await directories.sync(this.directory);
    this.exists = true;
  }

  /** The path still leads to our file, and nobody else has written to it. */
  isOurs(): boolean {
    if (!this.exists) return this.options.fs.lstatSync(this.path) === undefined;
    const found = this.options.fs.lstatSync(this.path);
    return found !== undefined && found.ino === this.inode && found.size === this.state.size;
  }

  /** Writes behind the known bytes. A short write is cut back, and fails. */
  async write(bytes: Buffer): Promise<void> {
    const { fs } = this.options;
    const position = this.state.size;
    try {
      await writeAll(fs, this.fd, bytes, position);
    } catch (error) {
      await this.cutBack(position, error);
      throw error;
    }
  }

  /** Takes back a write that another file's failure made void. */
  async unwrite(): Promise<void> {
    await this.cutBack(this.state.size, undefined);
  }

  /** What isn't cut back would be read as stored: such a failure never passes for a full disk. */
  private async cutBack(size: number, cause: unknown): Promise<void> {
    try {
      await this.options.fs.ftruncate(this.fd, size);
    } catch (error) {
      throw new Error("a write could not be taken back", { cause: cause ?? error });
    }
  }

  async sync(): Promise<void> {
    await this.options.fs.fdatasync(this.fd);
  }

  /** Overwrites ranges with newlines, so that nothing of them is left in this file. */
  async erase(ranges: readonly Range[]): Promise<void> {
    await eraseRanges(this.options.fs, this.fd, ranges);
  }

  /** The bytes of entry `i`; valid until the next read of any log. */
  read(i: number): Buffer {
    return this.readRange(this.state.index.offset(i), this.state.index.length(i));
  }

  /** Bytes of the file; valid until the next read of any log. Shorter where the file ends early. */
  readRange(at: number, len: number): Buffer {
    if (this.fd < 0)
      throw new ReverieError("DRAINING", "the service is shutting down; try again", { retryAfterMs: 1000 });
    const into = len <= scratch.length ? scratch : Buffer.allocUnsafe(len);
    let done = 0;
    while (done < len) {
      const got = this.options.fs.readSync(this.fd, into, done, len - done, at + done);
      if (got === 0) break;
      done += got;
    }
    return into.subarray(0, done);
  }

  /** Entry `i` as it stands in the file; undefined, and no longer served, when the disk altered it. */
  entry(i: number): { readonly line: EntryLine; readonly bytes: Buffer } | undefined {
    const bytes = this.read(i);
    const line = decodeLine(bytes);
    if (line.type === "entry") return { line, bytes };
    this.state.index.markStale(i);
    return undefined;
  }

  /** Goes over to a rewritten file. Nothing in it can fail: the file has the log's name by now. */
  async replaceWith(fd: number, inode: number, state: LogState): Promise<void> {
    const old = this.fd;
    this.fd = fd;
    this.inode = inode;
    this.state = state;
    this.exists = true;
    if (old >= 0) await this.options.fs.close(old).catch(() => {});
  }

  async close(): Promise<void> {
    const fd = this.fd;
    this.fd = -1;
    if (fd >= 0) await this.options.fs.close(fd);
  }

  /** Takes in the file's lines. What stands behind the last newline is left to `settleTail`. */
  private async replay(size: number): Promise<{ erase: Range[]; tail: Buffer | undefined }> {
    const erase: Range[] = [];
    const slice = new TimeSlice(SLICE_MS);
    const { index } = this.state;
    let isReserved = false;
    let tail: Buffer | undefined;
    for (const { at, length, bytes, ended } of logLines(this.options.fs, this.fd, size)) {
      if (!ended) {
        tail = bytes;
        break;
      }
      if (!isReserved && at >= SAMPLE_BYTES) {
        isReserved = true;
        index.reserve(Math.ceil(index.count * (size / at)));
      }
      if (bytes === undefined) this.state.addLongLine({ at, len: length });
      else {
        const range = this.state.replay(bytes, at);
        if (range !== undefined) erase.push(range);
      }
      if (slice.isOver) await slice.giveWay();
    }
    if (isReserved) index.trim();
    return { erase, tail };
  }

  /**
   * What follows the last newline: a complete line is kept, one too long to look at as well, anything else is put
   * aside. Returns a range that the line replaces and that still holds something.
   */
  private async settleTail(tail: Buffer | undefined, size: number): Promise<Range | undefined> {
    const at = this.state.size;
    if (at === size) return undefined;
    const { fs } = this.options;
    if (tail === undefined || isComplete(decodeLine(tail))) {
      await writeAll(fs, this.fd, Buffer.from("\n"), size);
      if (tail !== undefined) return this.state.replay(tail, at);
      this.state.addLongLine({ at, len: size - at });
      return undefined;
    }
    await keepTornTail(this.options.fs, this.tornPath, {
      at: this.state.size,
      cutAtMs: this.options.now(),
      bytes: tail,
    });
    this.tornTails++;
    await this.options.directories.sync(this.directory);
    await fs.ftruncate(this.fd, this.state.size);
    return undefined;
  }
}

/** Overwrites with newlines what no reader may find. */
export async function eraseRanges(fs: Fs, fd: number, ranges: readonly Range[]): Promise<void> {
  for (const { at, len } of ranges) {
    for (let done = 0; done < len; done += ERASE_BYTES)
      await writeAll(fs, fd, Buffer.alloc(Math.min(ERASE_BYTES, len - done), 0x0a), at + done);
  }
}

function unsafe(kind: Kind): ReverieError {
  return new ReverieError(
    "OWNER_PATH_UNSAFE",
    `the owner's ${kind} log is a symbolic link or no regular file, and is not opened; replace it with the file itself`,
    { metadata: { kind } },
  );
}
