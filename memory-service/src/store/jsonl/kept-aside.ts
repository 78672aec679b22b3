import type { Kind } from "../store.js";
import { ownerFileMode } from "./directories.js";
import { type Fs, O_CREAT, O_NOFOLLOW, O_RDWR, writeAll } from "./fs.js";

// Files beside a log that keep what was taken out of it: `.torn` the tails that were
// cut off, `.quarantine` the lines that nobody could read. JSON lines, bytes in base64.

/** Appends durably. Half a line that a crash left at the end stays a line of its own. */
export async function appendKept(fs: Fs, path: string, lines: Uint8Array): Promise<void> {
  const fd = await fs.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, ownerFileMode);
  try {
    const end = fs.fstatSync(fd).size;
    const last = Buffer.alloc(1, 0x0a);
    if (end > 0) fs.readSync(fd, last, 0, 1, end - 1);
    await writeAll(fs, fd, last[0] === 0x0a ? lines : Buffer.concat([Buffer.from("\n"), lines]), end);
    await fs.fdatasync(fd);
  } finally {
    await fs.close(fd);
  }
}

/** Whether a file of this name keeps something of this kind's log. */
export function keepsPartOf(kind: Kind, name: string): boolean {
  const log = `${kind}.jsonl`;
  return name.startsWith(log) && /^\.(?:torn|quarantine)(?:\.\d+)?$/.test(name.slice(log.length));
}

/** `path` with the first number behind it that is above all those in use. */
export async function nextNumbered(fs: Fs, path: string): Promise<string> {
  const slash = path.lastIndexOf("/");
  const prefix = `${path.slice(slash + 1)}.`;
  const used = (await fs.readdir(path.slice(0, slash)))
    .filter(({ name }) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map(({ name }) => Number(name.slice(prefix.length)));
  return `${path}.${Math.max(0, ...used) + 1}`;
}
