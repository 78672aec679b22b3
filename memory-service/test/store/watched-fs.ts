import { type Fs, realFs } from "../../src/store/jsonl/fs.js";

export type Before = (call: string, path: string) => Promise<void> | undefined;

/** Newlines over what was there: how the store erases. */
export const isErase = (bytes: Uint8Array): boolean => bytes.length > 1 && bytes.every((byte) => byte === 0x0a);

/** A file system that notes its calls by path, and lets a test stand in front of them. */
export function watchedFs(before: Before, under: Fs = realFs): { fs: Fs; calls: string[] } {
  const paths = new Map<number, string>();
  const calls: string[] = [];
  const through = async <T>(call: string, path: string, run: () => Promise<T>): Promise<T> => {
    await before(call, path);
    calls.push(`${call} ${path.slice(path.lastIndexOf("/") + 1)}`);
    return run();
  };
  const fs: Fs = {
    ...under,
    open: (path, flags, mode) =>
      through("open", path, async () => {
        const fd = await under.open(path, flags, mode);
        paths.set(fd, path);
        return fd;
      }),
    write: (fd, bytes, position) =>
      through(isErase(bytes) ? "erase" : "write", paths.get(fd) ?? "", () => under.write(fd, bytes, position)),
    fdatasync: (fd) => through("fdatasync", paths.get(fd) ?? "", () => under.fdatasync(fd)),
    fsync: (fd) => through("fsync", paths.get(fd) ?? "", () => under.fsync(fd)),
    ftruncate: (fd, length) => through("ftruncate", paths.get(fd) ?? "", () => under.ftruncate(fd, length)),
    rename: (from, to) => through("rename", to, () => under.rename(from, to)),
  };
  return { fs, calls };
}

/** Holds the first call that matches, once armed, until it is let go. */
export class Hold {
  armed = false;
  /** The call has come, and waits. */
  readonly reached: Promise<void>;
  private reach = (): void => {};
  private go = (): void => {};
  private readonly released: Promise<void>;

  constructor(private readonly matches: (call: string, path: string) => boolean) {
    this.reached = new Promise((resolve) => {
      this.reach = resolve;
    });
    this.released = new Promise((resolve) => {
      this.go = resolve;
    });
  }

  readonly before: Before = (call, path) => {
    if (!this.armed || !this.matches(call, path)) return undefined;
    this.armed = false;
    this.reach();
    return this.released;
  };

  release(): void {
    this.armed = false;
    this.go();
  }
}
