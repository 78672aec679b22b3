// The service as a test build that takes a failed fdatasync for a success, and acknowledges.

import { realFs } from "../../../memory-service/src/store/jsonl/fs.js";
import { runTestBuild } from "../run-test-build.js";

const fs: typeof realFs = {
  ...realFs,
  fdatasync: (fd) => realFs.fdatasync(fd).catch((error: unknown) => console.error(`swallowed ${error}`)),
};

await runTestBuild(fs);
