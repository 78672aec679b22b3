// The service as a test build that takes a failed fdatasync for a success, and acknowledges.
import { MemoryServer, memoryOptions, version } from "@reverie/memory-service";
import { runMain } from "@reverie/service-kit";
import { realFs } from "../../../memory-service/src/store/jsonl/fs.js";

const fs: typeof realFs = {
  ...realFs,
  fdatasync: (fd) => realFs.fdatasync(fd).catch((error: unknown) => console.error(`swallowed ${error}`)),
};

await runMain({
  name: "reverie-memory",
  version,
  description: "A test build.",
  options: memoryOptions,
  create: (config, context) => MemoryServer.create(config, context, { fs }),
});
