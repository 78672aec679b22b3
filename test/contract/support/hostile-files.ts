import { execFileSync } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { HostileCase, Scene } from "./hostile-case.js";

/** Something in the data directory that isn't the service's. */
function file(
  input: string,
  make: (directory: string, scene: Scene) => Promise<unknown>,
  answer: HostileCase["answer"] = "FAILED_PRECONDITION OWNER_PATH_UNSAFE",
): HostileCase {
  return {
    field: "Files",
    input,
    calls: "Remember, Recall, ListEntries, ExportOwner, Watch, Forget, Clear, Describe, SoftDelete",
    answer,
    act: async (scene) => {
      const { api, owner } = scene;
      await mkdir(join(api.server.dataDir, "agent"), { recursive: true });
      await make(join(api.server.dataDir, "agent", owner.id), scene);
      return [
        () => api.remember(owner),
        () => api.memory.recall({ owner }),
        () => api.memory.listEntries({ owner }),
        () => api.memory.exportOwner({ owner }),
        () => api.memory.watch({ owner }),
        () => api.memory.forget({ owner, id: "a" }),
        () => api.memory.clear({ owner, all: true }),
        () => api.owners.describe({ owner }),
        () => api.trash.softDelete({ owner }),
      ];
    },
  };
}

/** The log is what `make` makes. */
function log(input: string, make: (path: string, scene: Scene) => Promise<unknown>): HostileCase {
  return file(input, async (directory, scene) => {
    await mkdir(directory);
    await make(join(directory, "episodic.jsonl"), scene);
  });
}

async function listen(path: string): Promise<void> {
  const server = createServer().unref();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
}

export const fileCases: readonly HostileCase[] = [
  file("an owner's directory that is a link to another's", async (directory, { api }) => {
    const other = api.owner();
    await api.remember(other, { id: "a", text: "secret" });
    await symlink(other.id, directory);
  }),
  file("an owner's directory that is a link out of the data directory", (directory) => symlink("/tmp", directory)),
  file("an owner's directory that is a link to nothing", (directory) => symlink("nowhere", directory)),
  log("a log that is a link to another's", async (path, { api }) => {
    const other = api.owner();
    await api.remember(other, { id: "a", text: "secret" });
    await symlink(`../${other.id}/episodic.jsonl`, path);
  }),
  log("a log that is a link to nothing", (path) => symlink("nowhere", path)),
  log("a log that is a FIFO", async (path) => execFileSync("mkfifo", [path])),
  log("a log that is a directory", (path) => mkdir(path)),
  log("a log that is a socket", listen),
  file(
    "a config that is a FIFO",
    async (directory) => {
      await mkdir(directory);
      execFileSync("mkfifo", [join(directory, ".reverie.json")]);
    },
    "FAILED_PRECONDITION CONFIG_UNREADABLE",
  ),
];
