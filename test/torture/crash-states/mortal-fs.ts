import type { Fs } from "../../../memory-service/src/store/jsonl/fs.js";
import { O_CREAT } from "../../../memory-service/src/store/jsonl/fs.js";

export interface MortalFs {
  readonly fs: Fs;
  /** Resolves when the process that uses `fs` is taken for dead: none of its calls returns from then on. */
  readonly death: Promise<void>;
  /** Takes it for dead now. */
  readonly kill: () => Promise<void>;
  /** Changes made so far. */
  readonly changes: () => number;
}

/** Lets a process die at its `fatal`-th change of the file system (0-based), before it is made. */
export function mortalFs(fs: Fs, fatal: number): MortalFs {
  let changes = 0;
  let dead = false;
  let lockFd: number | undefined;
  let died = (): void => {};
  const death = new Promise<void>((resolve) => {
    died = resolve;
  });
  const kill = async (): Promise<void> => {
    dead = true;
    // The kernel lets go of a dead process's lock.
    if (lockFd !== undefined) await fs.close(lockFd);
    lockFd = undefined;
    died();
  };
  const never = new Promise<never>(() => {});
  const change = async <T>(make: () => Promise<T>): Promise<T> => {
    if (!dead && changes < fatal) {
      changes++;
      return make();
    }
    if (!dead) await kill();
    return never;
  };
  return {
    death,
    kill,
    changes: () => changes,
    fs: {
      ...fs,
      open: async (path, flags, mode) => {
        const fd = await ((flags & O_CREAT) === 0
          ? fs.open(path, flags, mode)
          : change(() => fs.open(path, flags, mode)));
        if (path.endsWith("/.lock")) lockFd = fd;
        return fd;
      },
      write: (fd, bytes, position) => change(() => fs.write(fd, bytes, position)),
      fdatasync: (fd) => change(() => fs.fdatasync(fd)),
      fsync: (fd) => change(() => fs.fsync(fd)),
      ftruncate: (fd, length) => change(() => fs.ftruncate(fd, length)),
      rename: (from, to) => change(() => fs.rename(from, to)),
      unlink: (path) => change(() => fs.unlink(path)),
      mkdir: (path, mode) => change(() => fs.mkdir(path, mode)),
      rmdir: (path) => change(() => fs.rmdir(path)),
    },
  };
}
