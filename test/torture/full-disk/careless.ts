// The service as a test build, the negative control: a write that finds no room claims to have worked.

import { errorCode, type Fs, realFs } from "../../../memory-service/src/store/jsonl/fs.js";
import { runTestBuild } from "../run-test-build.js";

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

await runTestBuild(fs);
