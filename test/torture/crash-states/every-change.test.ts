import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Fs, O_DIRECTORY } from "../../../memory-service/src/store/jsonl/fs.js";
import { seededRandom } from "../random.js";
import { volatileFs } from "../volatile/volatile-fs.js";
import { mortalFs } from "./mortal-fs.js";
import { openOn, owners, Promised, playScript } from "./store-script.js";

const TIMEOUT_MS = 300_000;

interface Life {
  /** The script ran to its end: there is no later change to die at. */
  readonly survived: boolean;
  readonly wrong: string[];
}

/** One store that dies at its `fatal`-th change, and what those after it find. */
async function liveAndDie(
  dir: string,
  fatal: number,
  death: "cut" | "kill",
  early: number,
  durability: "fsync" | "none" = "fsync",
): Promise<Life> {
  const base = join(dir, String(fatal));
  const root = join(base, "data");
  mkdirSync(root, { recursive: true });
  let boots = 0;
  const boot = (): Fs =>
    volatileFs({ base, limbo: `${base}-limbo-${boots++}`, random: seededRandom(fatal), earlyChance: early });
  const promised = owners.map((owner) => new Promised(owner));
  const wrong: string[] = [];
  const compare = async (fs: Fs, when: string, alsoWrite: boolean): Promise<void> => {
    const store = await openOn(fs, root);
    for (const one of promised) {
      wrong.push(
        ...(await one.compare(store, early === 0)).map((what) => `change ${fatal}, ${when}: ${one.owner.id}: ${what}`),
      );
      if (alsoWrite) await one.append(store, [`later-${one.owner.id}`]);
    }
    await store.close();
  };

  const first = boot();
  const mortal = mortalFs(first, fatal);
  let survived = false;
  const life = async (): Promise<void> => {
    const store = await openOn(mortal.fs, root, durability);
    await playScript(store, promised);
    survived = true;
    await mortal.kill();
  };
  await Promise.race([life(), mortal.death]);
  // After a kill the page cache is still there, for the next process to build on.
  await compare(death === "kill" ? first : boot(), `after the ${death}`, true);
  await compare(boot(), "after a power cut then", false);
  return { survived, wrong };
}

function emptyDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), "reverie-every-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test.each([
  ["cut", 0],
  ["cut", 0.5],
  ["kill", 0],
  ["kill", 0.5],
] as const)(
  "a %s at any change of the file system loses nothing (written early: %d)",
  { timeout: TIMEOUT_MS },
  async (death, early) => {
    const dir = emptyDirectory();
    const wrong: string[] = [];
    let fatal = 0;
    for (let survived = false; !survived; fatal++) {
      const life = await liveAndDie(dir, fatal, death, early);
      survived = life.survived;
      wrong.push(...life.wrong);
    }
    expect(wrong).toEqual([]);
    expect(fatal).toBeGreaterThan(150);
  },
);

test("without syncs the same cuts lose entries", { timeout: TIMEOUT_MS }, async () => {
  const { survived, wrong } = await liveAndDie(emptyDirectory(), Number.MAX_SAFE_INTEGER, "cut", 0, "none");
  expect(survived).toBe(true);
  expect(wrong.join("\n")).toContain("lost: ");
});

test("an acknowledgement waits for a directory that another owner's write is making", async () => {
  const base = emptyDirectory();
  const root = join(base, "data");
  const disk = volatileFs({ base, limbo: `${base}-limbo` });
  onTestFinished(() => rmSync(`${base}-limbo`, { recursive: true, force: true }));
  let rootFd = -1;
  let opened = false;
  let begun = (): void => {};
  const making = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const slow: Fs = {
    ...disk,
    open: async (path, flags, mode) => {
      const fd = await disk.open(path, flags, mode);
      if (path === root && (flags & O_DIRECTORY) !== 0) rootFd = fd;
      return fd;
    },
    fsync: async (fd) => {
      if (fd === rootFd && opened) {
        begun();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return disk.fsync(fd);
    },
  };
  const store = await openOn(slow, root);
  onTestFinished(() => store.close());
  opened = true;
  const [x, y] = owners.map((owner) => new Promised(owner));
  const durable = (one: Promised): boolean => existsSync(join(root, one.owner.kind, one.owner.id, "episodic.jsonl"));
  const appendDurably = async (one: Promised): Promise<void> => {
    await one.append(store, ["a"]);
    expect(durable(one), `${one.owner.id}, acknowledged, is on the disk`).toBe(true);
  };
  await Promise.all([appendDurably(x), making.then(() => appendDurably(y))]);
});
