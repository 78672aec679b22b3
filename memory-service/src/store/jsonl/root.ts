import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { dirname, resolve } from "node:path";
import { ReverieError } from "@reverie/service-kit/errors";
import { tryLock } from "fs-native-extensions";
import { Directories, ownerFileMode } from "./directories.js";
import { errorCode, type Fs, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } from "./fs.js";
import type { StoreLog } from "./store-log.js";

/** The newest layout of a data directory that this code reads and writes. */
const FORMAT_VERSION = 1;
const FORMAT_LINE = /^reverie-memory (\d+)\n?$/;

/** How long a second process waits for the first to let go, milliseconds. */
const LOCK_WAIT_MS = 800;

/** A data directory that can't be opened: the message is for the operator. */
export class DataDirectoryError extends Error {
  override readonly name = "DataDirectoryError";
}

/** What belongs to the data directory as a whole: its format, lock, key and the seq that no owner starts below. */
export class Root {
  readonly directories: Directories;
  private seqValue = 0;
  private raising: Promise<void> = Promise.resolve();
  private readonly lockInode: number;
  private lost = false;

  private constructor(
    readonly fs: Fs,
    readonly path: string,
    private readonly log: StoreLog,
    private readonly lockFd: number,
    /** 32 bytes that key the hashes kept of what was forgotten, and page tokens. */
    readonly secret: Buffer,
    directories: Directories,
  ) {
    this.directories = directories;
    this.lockInode = fs.fstatSync(lockFd).ino;
  }

  static async open(fs: Fs, path: string, log: StoreLog): Promise<Root> {
    const directories = new Directories(fs);
    await makeRoot(fs, directories, path);
    const lockFd = await lockRoot(fs, path);
    try {
      await checkFormat(fs, directories, path);
      const root = new Root(fs, path, log, lockFd, await readSecret(fs, directories, path), directories);
      root.seqValue = await readSeq(fs, path);
      await root.syncNames();
      return root;
    } catch (error) {
      await fs.close(lockFd);
      throw error;
    }
  }

  /**
   * A process that was killed may have left names that only the page cache knows: they are built on from here, so
   * they must be durable. Where things were moved to comes before where they were.
   */
  private async syncNames(): Promise<void> {
    const { fs, path, directories } = this;
    const below = (await fs.readdir(path))
      .filter((entry) => entry.isDirectory())
      .map((entry) => `${path}/${entry.name}`);
    const trash = below.filter((directory) => directory.endsWith("/.trash"));
    for (const directory of trash) {
      for (const ref of await fs.readdir(directory))
        if (ref.isDirectory()) await directories.sync(`${directory}/${ref.name}`);
    }
    for (const directory of [...trash, ...below.filter((directory) => !trash.includes(directory)), path]) {
      await directories.sync(directory);
    }
    await this.syncAncestors();
  }

  /** The root's own name, and those of directories that were made for it. */
  private async syncAncestors(): Promise<void> {
    for (
      let below = resolve(this.path), above = dirname(below);
      above !== below;
      below = above, above = dirname(above)
    ) {
      try {
        await this.directories.sync(above);
      } catch (error) {
        // What this user may not read, it has not made.
        if (!["EACCES", "EPERM", "EINVAL", "EROFS"].includes(errorCode(error))) throw error;
      }
    }
  }

  /** New and restored owners start above this. */
  get seq(): number {
    return this.seqValue;
  }

  /** Makes sure, durably, that `seq` is at least this. */
  async raiseSeq(seq: number): Promise<void> {
    const raise = async (): Promise<void> => {
      if (seq <= this.seqValue) return;
      await writeSeq(this.directories, this.path, seq);
      this.seqValue = seq;
    };
    this.raising = this.raising.then(raise, raise);
    await this.raising;
  }

  /** For good: nobody knows who had the directory since. */
  get lockLost(): boolean {
    return this.lost;
  }

  /** Whether `.lock` is still the file that is locked: else another process may have the directory. */
  holdsLock(): boolean {
    if (this.lost) return false;
    const file = `${this.path}/.lock`;
    this.lost = this.fs.lstatSync(file)?.ino !== this.lockInode;
    if (this.lost) {
      this.log.error(
        { file },
        "the data directory's lock was removed or replaced, so another process may have it: nothing is written any more; see that only one service has the directory, and start it again",
      );
    }
    return !this.lost;
  }

  /** Before anything is written: LOG_STOPPED when the lock is lost. */
  checkLock(): void {
    if (this.holdsLock()) return;
    throw new ReverieError(
      "LOG_STOPPED",
      "the service has lost its data directory; nothing of this call was stored: have the operator start it again, then send the same",
      { retryAfterMs: 1000 },
    );
  }

  async close(): Promise<void> {
    // Closing the descriptor lets the lock go.
    await this.fs.close(this.lockFd);
  }
}

async function makeRoot(fs: Fs, directories: Directories, path: string): Promise<void> {
  const found = fs.lstatSync(path);
  if (found?.isDirectory() || found?.isSymbolicLink()) return;
  if (found !== undefined)
    throw new DataDirectoryError(`${path} is no directory; give the data directory another path`);
  try {
    await directories.ensure(path);
  } catch (error) {
    throw new DataDirectoryError(`cannot make the data directory ${path}: ${(error as Error).message}`);
  }
}

/** Takes the data directory for this process alone, until the descriptor is closed. */
export async function lockRoot(fs: Fs, path: string): Promise<number> {
  const file = `${path}/.lock`;
  let fd: number;
  try {
    fd = await fs.open(file, O_RDWR | O_CREAT | O_NOFOLLOW, ownerFileMode);
  } catch (error) {
    throw new DataDirectoryError(
      `cannot open ${file}: ${(error as Error).message}; the service needs to own its data directory`,
    );
  }
  await waitForLock(fs, fd, path, false);
  await sayWhoHoldsIt(fs, fd);
  return fd;
}

/**
 * Keeps away who would write, until the descriptor is closed, and writes nothing: the directory may be read-only.
 * undefined when there is no lock file, and so nobody who has the directory.
 */
export async function lockRootForReading(fs: Fs, path: string): Promise<number | undefined> {
  const file = `${path}/.lock`;
  let fd: number;
  try {
    fd = await fs.open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw new DataDirectoryError(
      `cannot open ${file}: ${(error as Error).message}; run this as the user that the data directory belongs to`,
    );
  }
  await waitForLock(fs, fd, path, true);
  return fd;
}

/** Closes the descriptor when another process keeps the lock. */
async function waitForLock(fs: Fs, fd: number, path: string, shared: boolean): Promise<void> {
  const until = Date.now() + LOCK_WAIT_MS;
  while (!tryLock(fd, { shared })) {
    if (Date.now() > until) {
      await fs.close(fd);
      const holder = await fs.readFile(`${path}/.lock`).then(
        (bytes) => bytes.toString().trim(),
        () => "",
      );
      throw new DataDirectoryError(
        `${path} is in use by ${holder === "" ? "another process" : holder}; stop it first, or give this one another data directory`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** For the message of a process that comes second. A full disk is no reason not to start. */
async function sayWhoHoldsIt(fs: Fs, fd: number): Promise<void> {
  try {
    await fs.ftruncate(fd, 0);
    await fs.write(fd, Buffer.from(`process ${process.pid} on ${hostname()} since ${new Date().toISOString()}\n`), 0);
  } catch {
    // The lock holds all the same.
  }
}

async function checkFormat(fs: Fs, directories: Directories, path: string): Promise<void> {
  // New, or of the file plugin before Reverie: its lines are read as they are.
  if ((await readFormat(fs, path)) === undefined)
    await directories.replaceFile(`${path}/FORMAT`, `reverie-memory ${FORMAT_VERSION}\n`);
}

/** The version of the layout; undefined where none is said. A DataDirectoryError when it isn't one of those known here. */
export async function readFormat(fs: Fs, path: string): Promise<number | undefined> {
  const file = `${path}/FORMAT`;
  let text: string;
  try {
    text = (await fs.readFile(file)).toString();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  const version = Number(FORMAT_LINE.exec(text)?.[1]);
  if (!Number.isInteger(version)) {
    throw new DataDirectoryError(
      `${file} doesn't say \`reverie-memory <version>\`: is ${path} the data directory of another program?`,
    );
  }
  if (version > FORMAT_VERSION) {
    throw new DataDirectoryError(
      `${path} has format ${version}, this version of the service knows up to ${FORMAT_VERSION}; run the newer version that wrote it`,
    );
  }
  return version;
}

async function readSecret(fs: Fs, directories: Directories, path: string): Promise<Buffer> {
  const known = await readKey(fs, path);
  if (known !== undefined) return known;
  const secret = randomBytes(32);
  await directories.replaceFile(`${path}/.key`, `${secret.toString("hex")}\n`);
  return secret;
}

/** undefined where there is none; a DataDirectoryError when it can't be understood. */
export async function readKey(fs: Fs, path: string): Promise<Buffer | undefined> {
  const file = `${path}/.key`;
  try {
    const secret = Buffer.from((await fs.readFile(file)).toString().trim(), "hex");
    if (secret.length === 32) return secret;
    throw new DataDirectoryError(
      `${file} doesn't hold 64 hexadecimal digits; put it back from a backup, or remove it (page tokens and late retries of forgotten entries are then unknown)`,
    );
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

export async function writeSeq(directories: Directories, path: string, seq: number): Promise<void> {
  await directories.replaceFile(`${path}/.seq`, `${JSON.stringify({ seq })}\n`);
}

/** 0 where there is none; a DataDirectoryError when it can't be understood. */
export async function readSeq(fs: Fs, path: string): Promise<number> {
  let text: string;
  try {
    text = (await fs.readFile(`${path}/.seq`)).toString();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return 0;
    throw error;
  }
  try {
    const { seq } = JSON.parse(text) as { seq?: unknown };
    if (Number.isSafeInteger(seq)) return seq as number;
  } catch {
    // Falls through to the message below.
  }
  throw new DataDirectoryError(
    `${path}/.seq doesn't hold {"seq":<number>}; put it back from a backup, or run \`reverie check --fix\``,
  );
}
