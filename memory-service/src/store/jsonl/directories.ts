import { dirname } from "node:path";
import { errorCode, type Fs, O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_RDWR, O_TRUNC, writeAll } from "./fs.js";
import { afterwards } from "./storage-error.js";

export const ownerFileMode = 0o600;
const directoryMode = 0o700;
const createFlags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW;

/** Directories made and synced so that a power cut leaves them where they were acknowledged. */
export class Directories {
  /** Being made: another who needs one waits until it is durable. */
  private readonly making = new Map<string, Promise<void>>();
  /** Made, or tried to, but not known to be durable. */
  private readonly unsynced = new Set<string>();

  constructor(private readonly fs: Fs) {}

  /** Makes `path`, and what leads to it, durably. */
  async ensure(path: string): Promise<void> {
    const making = this.making.get(path);
    if (making !== undefined) return making;
    if (this.fs.lstatSync(path)?.isDirectory() && !this.unsynced.has(path)) return;
    const made = this.make(path).finally(() => this.making.delete(path));
    this.making.set(path, made);
    return made;
  }

  private async make(path: string): Promise<void> {
    const parent = dirname(path);
    if (parent !== path) await this.ensure(parent);
    this.unsynced.add(path);
    try {
      await this.fs.mkdir(path, directoryMode);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
    await this.sync(parent);
    this.unsynced.delete(path);
  }

  /** Makes renames, new files and removals in `path` durable. */
  async sync(path: string): Promise<void> {
    const fd = await this.fs.open(path, O_RDONLY | O_DIRECTORY, 0);
    try {
      await this.fs.fsync(fd);
    } finally {
      await this.fs.close(fd);
    }
  }

  /** Bytes of the files at or below `path`. */
  async size(path: string): Promise<number> {
    const found = this.fs.lstatSync(path);
    if (!found?.isDirectory()) return found?.size ?? 0;
    let bytes = 0;
    for (const child of await this.fs.readdir(path)) bytes += await this.size(`${path}/${child.name}`);
    return bytes;
  }

  /** Removes a file or a directory with all that is in it, without following links. Returns the bytes of its files. */
  async remove(path: string): Promise<number> {
    const found = this.fs.lstatSync(path);
    if (found === undefined) return 0;
    if (!found.isDirectory()) {
      await this.fs.unlink(path);
      return found.size;
    }
    let freed = 0;
    for (const child of await this.fs.readdir(path)) freed += await this.remove(`${path}/${child.name}`);
    await this.fs.rmdir(path);
    return freed;
  }

  /** Writes a small file whole: beside it, synced, then renamed over it. HalfDone: it may be there. */
  async replaceFile(path: string, content: string): Promise<void> {
    const temporary = `${path}.tmp`;
    const fd = await this.fs.open(temporary, createFlags, ownerFileMode);
    try {
      const bytes = Buffer.from(content);
      await writeAll(this.fs, fd, bytes, 0);
      await this.fs.fsync(fd);
    } finally {
      await this.fs.close(fd);
    }
    await this.fs.rename(temporary, path);
    await afterwards(() => this.sync(dirname(path)));
  }
}
