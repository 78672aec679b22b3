import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./repo.js";
import { printValidateProto } from "./validate-proto.js";

/** Writes the imports that buf needs and no package has as files, into the git-ignored `proto/.deps`. */
export function writeProtoDeps(): void {
  const path = join(root, "proto/.deps/buf/validate/validate.proto");
  const text = printValidateProto();
  // buf may be reading it for another command.
  if (readIfThere(path) === text) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
