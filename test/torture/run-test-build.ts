import { MemoryServer, memoryOptions, version } from "@reverie/memory-service";
import { runMain } from "@reverie/service-kit";
import type { Fs } from "../../memory-service/src/store/jsonl/fs.js";

/** Runs the memory service on a file system of the test's, from this process's command line. */
export function runTestBuild(fs: Fs): Promise<void> {
  return runMain({
    name: "reverie-memory",
    version,
    description: "A test build.",
    options: memoryOptions,
    create: (config, context) => MemoryServer.create(config, context, { fs }),
  });
}
