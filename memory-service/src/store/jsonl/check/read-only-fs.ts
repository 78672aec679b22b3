import { type Fs, O_CREAT, O_RDWR, O_TRUNC } from "../fs.js";

/** The same file system without a way to change it. */
export function readOnlyFs(fs: Fs): Fs {
  const refuse = (): never => {
    throw new Error("a dry run writes nothing");
  };
  return {
    ...fs,
    open: (path, flags, mode) => ((flags & (O_RDWR | O_CREAT | O_TRUNC)) === 0 ? fs.open(path, flags, mode) : refuse()),
    write: refuse,
    fdatasync: refuse,
    fsync: refuse,
    ftruncate: refuse,
    rename: refuse,
    unlink: refuse,
    mkdir: refuse,
    rmdir: refuse,
  };
}
