import { randomBytes } from "node:crypto";
import { type FileHandle, open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CliError, fileError, usageError } from "../cli-error.js";
import { ExitCode } from "../exit-code.js";
import type { Output } from "../output/output.js";
import { safeJsonLines } from "../output/printable.js";

/** Where an export goes. */
export interface Sink {
  write(data: Uint8Array | string): Promise<void>;
  /** All of it was written. */
  commit(): Promise<void>;
  /** It broke off. After `commit`, nothing. */
  discard(): Promise<void>;
}

/** stdout; what would drive a terminal is escaped on its way there. */
export function stdoutSink(output: Output): Sink {
  const decoder = output.stdout.isTTY ? new TextDecoder("utf-8", { ignoreBOM: true }) : undefined;
  return {
    write: (data) =>
      output.write(
        decoder === undefined || typeof data === "string"
          ? data
          : safeJsonLines(decoder.decode(data, { stream: true })),
      ),
    commit: async () => {},
    discard: async () => {},
  };
}

/** A file that has its name only once it is whole and on disk. Pipes and devices are written to as they are. */
export async function fileSink(path: string): Promise<Sink> {
  const present = await stat(path).catch(() => undefined);
  if (present?.isDirectory()) throw usageError(`${path} is a directory.`, "Name a file in it.");
  if (present !== undefined && !present.isFile()) return plainSink(path);
  // A link stays one: what it names is replaced.
  const target = await realpath(path).catch(() => path);
  const dir = dirname(target);
  const partial = join(dir, `.${basename(target).slice(0, 64)}.${randomBytes(4).toString("hex")}.partial`);
  const file = await guarded(path, () => open(partial, "wx", 0o600));
  let isOpen = true;
  const discard = async () => {
    if (!isOpen) return;
    isOpen = false;
    await file.close().catch(() => {});
    await rm(partial, { force: true });
  };
  return {
    write: (data) => guarded(path, () => writeAll(file, data)),
    commit: () =>
      guarded(path, async () => {
        if (present !== undefined) await file.chmod(present.mode & 0o7777);
        await file.sync();
        await file.close();
        await rename(partial, target);
        isOpen = false;
        await syncDirectory(dir);
      }),
    discard,
  };
}

async function plainSink(path: string): Promise<Sink> {
  const file = await guarded(path, () => open(path, "w"));
  let isOpen = true;
  const close = async () => {
    if (isOpen) await file.close();
    isOpen = false;
  };
  return { write: (data) => guarded(path, () => writeAll(file, data)), commit: close, discard: close };
}

async function writeAll(file: FileHandle, data: Uint8Array | string): Promise<void> {
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

/** The rename is on disk when the directory is. */
async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function guarded<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw fileError(`Can't write ${path}`, error, ExitCode.FAILED);
  }
}
