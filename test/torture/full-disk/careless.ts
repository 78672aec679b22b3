// The service as a test build, the negative control: a write that finds no room claims to have worked.
import { MemoryServer, memoryOptions, version } from "@reverie/memory-service";
import { runMain } from "@reverie/service-kit";
import { errorCode, type Fs, realFs } from "../../../memory-service/src/store/jsonl/fs.js";

const fs: Fs = {
  ...realFs,
  write: async (fd, bytes, position) => {
    try {
      return await realFs.write(fd, bytes, position);
    } catch (error) {
      if (!["ENOSPC", "EFBIG"].includes(errorCode(error))) throw error;
      return bytes.length;
    }
  },
};

await runMain({
  name: "reverie-memory",
  version,
  description: "A test build.",
  options: memoryOptions,
  create: (config, context) => MemoryServer.create(config, context, { fs }),
});
