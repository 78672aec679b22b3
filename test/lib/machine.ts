import { closeSync, fdatasyncSync, openSync, statfsSync, unlinkSync, writeSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";

export interface Machine {
  readonly os: string;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  /** Of the disk under test. */
  readonly fileSystem: string;
  /** Median of 50 appends of 200 bytes, milliseconds. */
  readonly fdatasyncMs: number;
}

const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: "ext4",
  1481003842: "xfs",
  2435016766: "btrfs",
  16914836: "tmpfs",
  2035054128: "overlay",
  801189825: "zfs",
  26985: "nfs",
};

export function describeMachine(dir: string): Machine {
  const magic = statfsSync(dir).type;
  return {
    os: `${type()} ${release()}`,
    node: process.versions.node,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    fileSystem: FILE_SYSTEMS[magic] ?? `type 0x${magic.toString(16)}`,
    fdatasyncMs: Math.round(fdatasyncMs(dir) * 1000) / 1000,
  };
}

function fdatasyncMs(dir: string): number {
  const path = join(dir, `.reverie-probe-${process.pid}`);
  const fd = openSync(path, "w");
  const times = Array.from({ length: 50 }, () => {
    const started = performance.now();
    writeSync(fd, "x".repeat(200));
    fdatasyncSync(fd);
    return performance.now() - started;
  });
  closeSync(fd);
  unlinkSync(path);
  return times.sort((a, b) => a - b)[25];
}
