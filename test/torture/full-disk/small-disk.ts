import { execFileSync } from "node:child_process";
import { mkdirSync, rmdirSync } from "node:fs";

/** Mounts a tmpfs of so many bytes there. Throws where that may not be done. */
export function mountSmallDisk(path: string, bytes: number): void {
  mkdirSync(path);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", path], { stdio: "pipe" });
  } catch (error) {
    rmdirSync(path);
    throw error;
  }
}

export function unmountSmallDisk(path: string): void {
  execFileSync("umount", ["--lazy", path], { stdio: "pipe" });
  rmdirSync(path);
}
