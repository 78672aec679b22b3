import { closeSync, constants, type Dirent, fstatSync, lstatSync, mkdirSync, openSync, type Stats } from "node:fs";
import { type Fs, realFs } from "../../../memory-service/src/store/jsonl/fs.js";
import { DirectoryNode, type Disk, FileNode, type Node } from "./volatile-directory.js";
import type { DiskHabits } from "./volatile-file.js";

export interface VolatileFsOptions extends Partial<DiskHabits> {
  /** An existing directory: what is below it is volatile. Other paths, and `.lock`, are the real file system's. */
  readonly base: string;
  /** Beside `base`, for what has no durable name; made when it isn't there. */
  readonly limbo: string;
  /** A disk that lies: fdatasync returns at once and takes place this much later, milliseconds. */
  readonly lateMs?: number;
}

export interface VolatileFs extends Fs {
  /** A power cut without a kill: what isn't durable by now is lost, and descriptors are closed. Nothing may use it again. */
  powerOff(): void;
}

/**
 * A file system whose page cache is this process's memory: the real files hold only what was made durable, so that
 * SIGKILL is a power cut. For one process and Linux.
 *
 * Modelled: bytes and sizes wait for fsync or fdatasync of the file; names (new, renamed, removed) for fsync of their
 * directory, a new directory's for that of its parent. A sync takes its steps one by one and in pieces, so a cut leaves
 * any part of it. Changes may reach the disk early, in part, also with NULs where the data is missing. A rename is one
 * step, also between directories, durable with a sync of either; otherwise each directory's changes keep their order
 * and wait for its own sync, although ext4 and XFS would write those of others with them.
 *
 * Not modelled: failing or lying disks (but `lateMs`), links, times, writes to one file that overtake an earlier one.
 */
export function volatileFs(options: VolatileFsOptions): VolatileFs {
  const { base, limbo, random = () => 0.5, earlyChance = 0, stepMs = 0, lateMs } = options;
  mkdirSync(limbo, { recursive: true });
  const disk: Disk = {
    base,
    limbo,
    habits: { random, earlyChance, stepMs },
    count: 0,
    files: new Set(),
    off: false,
  };
  const root = new DirectoryNode(disk, { directory: undefined, name: "" });
  const open = new Map<number, Node>();

  const isVolatile = (path: string): boolean =>
    (path === base || path.startsWith(`${base}/`)) && !path.endsWith("/.lock");
  const find = (path: string): Node | undefined => {
    let node: Node | undefined = root;
    for (const name of path.slice(base.length).split("/").filter(Boolean)) {
      if (!(node instanceof DirectoryNode)) return undefined;
      node = node.names.get(name);
    }
    return node;
  };
  const get = (path: string): Node => find(path) ?? fail("ENOENT", path);
  const parentOf = (path: string): [DirectoryNode, string] => {
    const slash = path.lastIndexOf("/");
    const parent = get(path.slice(0, slash));
    return parent instanceof DirectoryNode ? [parent, path.slice(slash + 1)] : fail("ENOTDIR", path);
  };
  const stat = (node: Node): Stats => {
    if (node instanceof DirectoryNode) return lstatSync(node.path);
    const stats = fstatSync(node.load().fd);
    stats.size = node.load().size;
    return stats;
  };
  const sync = (node: Node): Promise<void> => (node instanceof FileNode ? node.load().sync() : node.sync());
  // Without power a number may be another file's descriptor by now.
  const opened = (fd: number): Node | undefined => (disk.off ? fail("EIO", String(fd)) : open.get(fd));
  const fileOf = (fd: number): FileNode | undefined => {
    const node = opened(fd);
    return node instanceof DirectoryNode ? fail("EISDIR", String(fd)) : node;
  };

  return {
    powerOff() {
      disk.off = true;
      for (const file of disk.files) file.powerOff();
      for (const fd of open.keys()) closeSync(fd);
      open.clear();
    },
    async open(path, flags, mode) {
      if (disk.off) fail("EIO", path);
      if (!isVolatile(path)) return realFs.open(path, flags, mode);
      let node = find(path);
      if (node !== undefined && (flags & constants.O_EXCL) !== 0) fail("EEXIST", path);
      if (node === undefined) {
        if ((flags & constants.O_CREAT) === 0) fail("ENOENT", path);
        const [parent, name] = parentOf(path);
        node = FileNode.make(disk, mode);
        parent.add(name, node);
      } else if (node instanceof FileNode && (flags & constants.O_TRUNC) !== 0) {
        node.load().truncate(0);
      }
      if (node instanceof FileNode && (flags & constants.O_DIRECTORY) !== 0) fail("ENOTDIR", path);
      if (node instanceof DirectoryNode && (flags & constants.O_RDWR) !== 0) fail("EISDIR", path);
      if (node instanceof FileNode) node.load();
      // A real descriptor's number is no other file's.
      const fd = openSync("/dev/null", constants.O_RDONLY);
      open.set(fd, node);
      return fd;
    },
    async close(fd) {
      if (disk.off) return;
      open.delete(fd);
      await realFs.close(fd);
    },
    async write(fd, bytes, position) {
      return fileOf(fd)?.load().write(bytes, position) ?? realFs.write(fd, bytes, position);
    },
    async fdatasync(fd) {
      const node = opened(fd);
      if (node === undefined) return realFs.fdatasync(fd);
      if (lateMs === undefined) return sync(node);
      setTimeout(() => void sync(node), lateMs);
    },
    async fsync(fd) {
      const node = opened(fd);
      return node === undefined ? realFs.fsync(fd) : sync(node);
    },
    async ftruncate(fd, length) {
      const node = fileOf(fd);
      return node === undefined ? realFs.ftruncate(fd, length) : node.load().truncate(length);
    },
    async rename(from, to) {
      if (!isVolatile(from) || !isVolatile(to)) return realFs.rename(from, to);
      const node = get(from);
      const [source, name] = parentOf(from);
      const [target, newName] = parentOf(to);
      const replaced = target.names.get(newName);
      if (replaced === node) return;
      if (replaced instanceof DirectoryNode || (replaced && node instanceof DirectoryNode)) fail("EEXIST", to);
      source.rename(name, node, target, newName);
    },
    async unlink(path) {
      if (!isVolatile(path)) return realFs.unlink(path);
      const node = get(path);
      if (node instanceof DirectoryNode) fail("EISDIR", path);
      const [parent, name] = parentOf(path);
      parent.remove(name, node);
    },
    async mkdir(path, mode) {
      if (!isVolatile(path)) return realFs.mkdir(path, mode);
      if (find(path) !== undefined) fail("EEXIST", path);
      const [parent, name] = parentOf(path);
      parent.add(name, DirectoryNode.make(disk, mode));
    },
    async rmdir(path) {
      if (!isVolatile(path)) return realFs.rmdir(path);
      const node = get(path);
      if (!(node instanceof DirectoryNode)) fail("ENOTDIR", path);
      else if (node.names.size > 0) fail("ENOTEMPTY", path);
      const [parent, name] = parentOf(path);
      parent.remove(name, node);
    },
    async readdir(path) {
      if (!isVolatile(path)) return realFs.readdir(path);
      const node = get(path);
      return node instanceof DirectoryNode ? [...node.names].map(entryOf) : fail("ENOTDIR", path);
    },
    async readFile(path) {
      if (!isVolatile(path)) return realFs.readFile(path);
      const node = get(path);
      return node instanceof FileNode ? node.load().bytes() : fail("EISDIR", path);
    },
    readSync(fd, into, offset, length, position) {
      return (
        fileOf(fd)?.load().read(into, offset, length, position) ?? realFs.readSync(fd, into, offset, length, position)
      );
    },
    fstatSync(fd) {
      const node = opened(fd);
      return node === undefined ? realFs.fstatSync(fd) : stat(node);
    },
    lstatSync(path) {
      if (!isVolatile(path)) return realFs.lstatSync(path);
      const node = find(path);
      return node && stat(node);
    },
  };
}

function entryOf([name, node]: [string, Node]): Dirent {
  const entry = {
    name,
    isDirectory: () => node instanceof DirectoryNode,
    isFile: () => node instanceof FileNode,
    isSymbolicLink: () => false,
  };
  return entry as unknown as Dirent;
}

function fail(code: string, path: string): never {
  throw Object.assign(new Error(`${code}: ${path}`), { code });
}
