import * as nodeFs from "node:fs";
import { promisify } from "node:util";

/**
 * The file-system calls that the store makes: the seam where tests inject faults.
 * Reads are synchronous (a page-cache read takes 2.5 µs; the thread pool is left to syncs).
 */
export interface Fs {
  open(path: string, flags: number, mode: number): Promise<number>;
  close(fd: number): Promise<void>;
  /** Bytes written; may be fewer than asked. */
  write(fd: number, bytes: Uint8Array, position: number): Promise<number>;
  fdatasync(fd: number): Promise<void>;
  fsync(fd: number): Promise<void>;
  ftruncate(fd: number, length: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  mkdir(path: string, mode: number): Promise<void>;
  rmdir(path: string): Promise<void>;
  /** Names and whether each is a directory, in no order. */
  readdir(path: string): Promise<nodeFs.Dirent[]>;
  /** All of a small file. What somebody put in its place, such as a FIFO, keeps nobody waiting. */
  readFile(path: string): Promise<Buffer>;
  readSync(fd: number, into: Uint8Array, offset: number, length: number, position: number): number;
  fstatSync(fd: number): nodeFs.Stats;
  /** undefined when nothing is there. */
  lstatSync(path: string): nodeFs.Stats | undefined;
}

const write = promisify(nodeFs.write);

export const realFs: Fs = {
  open: promisify(nodeFs.open) as Fs["open"],
  close: promisify(nodeFs.close),
  write: async (fd, bytes, position) => (await write(fd, bytes, 0, bytes.length, position)).bytesWritten,
  fdatasync: promisify(nodeFs.fdatasync),
  fsync: promisify(nodeFs.fsync),
  ftruncate: promisify(nodeFs.ftruncate) as Fs["ftruncate"],
  rename: promisify(nodeFs.rename),
  unlink: promisify(nodeFs.unlink),
  mkdir: async (path, mode) => void (await nodeFs.promises.mkdir(path, { mode })),
  rmdir: promisify(nodeFs.rmdir) as Fs["rmdir"],
  readdir: (path) => nodeFs.promises.readdir(path, { withFileTypes: true }),
  readFile: (path) => nodeFs.promises.readFile(path, { flag: nodeFs.constants.O_RDONLY | nodeFs.constants.O_NONBLOCK }),
  readSync: nodeFs.readSync,
  fstatSync: nodeFs.fstatSync as Fs["fstatSync"],
  lstatSync: (path) => nodeFs.lstatSync(path, { throwIfNoEntry: false }),
};

/** Writes all of it, or fails. */
export async function writeAll(fs: Fs, fd: number, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const written = await fs.write(fd, done === 0 ? bytes : bytes.subarray(done), position + done);
    if (written <= 0) throw Object.assign(new Error("nothing was written"), { code: "ENOSPC" });
    done += written;
  }
}

export const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = nodeFs.constants;

export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
