// Fails when a change of the .proto files would break clients of main.
import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { findProtoBaseline } from "./lib/proto-baseline.js";
import { writeProtoDeps } from "./lib/proto-deps.js";
import { root, toolEnv, withTempDir } from "./lib/repo.js";

const baseline = findProtoBaseline(root);
if ("none" in baseline) {
  console.log(`note: nothing to compare with: ${baseline.none}`);
} else {
  writeProtoDeps();
  await withTempDir("breaking", (dir) => {
    // A `.git#ref=…` input would lack proto/.deps, which is in no commit.
    const archive = execFileSync("git", ["archive", baseline.commit, "proto", "buf.yaml"], {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    });
    execFileSync("tar", ["-x", "-C", dir], { input: archive });
    cpSync(join(root, "proto/.deps"), join(dir, "proto/.deps"), { recursive: true });
    try {
      execFileSync("buf", ["breaking", "--against", dir], { cwd: root, env: toolEnv, stdio: "inherit" });
      console.log(`note: compared with ${baseline.commit.slice(0, 12)}`);
    } catch {
      console.error(`The .proto files break what ${baseline.commit.slice(0, 12)} promised.`);
      process.exitCode = 1;
    }
  });
}
