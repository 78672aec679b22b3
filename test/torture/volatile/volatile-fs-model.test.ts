import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Fs, O_CREAT, O_EXCL, O_RDWR, realFs } from "../../../memory-service/src/store/jsonl/fs.js";
import { seededRandom } from "../../lib/random.js";
import { setUp, syncDirectory, tree, visible } from "./volatile-support.js";

const name = fc.constantFrom("a", "b", "d/a", "d/b", "e/a", "d", "e", "d/f");
const step = fc.oneof(
  fc.record({ call: fc.constant("write" as const), name, at: fc.nat(20), text: fc.string({ maxLength: 20 }) }),
  fc.record({ call: fc.constant("truncate" as const), name, at: fc.nat(20) }),
  fc.record({ call: fc.constant("rename" as const), name, to: name }),
  fc.record({ call: fc.constantFrom("mkdir" as const, "unlink" as const, "rmdir" as const, "create" as const), name }),
  fc.record({ call: fc.constant("sync" as const), name }),
);

async function perform(
  fs: Fs,
  base: string,
  one: typeof step extends fc.Arbitrary<infer T> ? T : never,
): Promise<string> {
  const path = join(base, one.name);
  try {
    if (one.call === "mkdir") await fs.mkdir(path, 0o700);
    else if (one.call === "unlink") await fs.unlink(path);
    else if (one.call === "rmdir") await fs.rmdir(path);
    else if (one.call === "rename") await fs.rename(path, join(base, one.to));
    else {
      const fd = await fs.open(path, one.call === "create" ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0o600);
      if (one.call === "write") await fs.write(fd, Buffer.from(one.text), one.at);
      if (one.call === "truncate") await fs.ftruncate(fd, one.at);
      if (one.call === "sync") await fs.fdatasync(fd);
      await fs.close(fd);
    }
    return "";
  } catch {
    return "refused";
  }
}

test("it looks like a real file system, and is one after everything was synced", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer(), async (steps, seed) => {
      const { base, fs } = setUp({ earlyChance: 0.3, random: seededRandom(seed) });
      const { base: mirror } = setUp();
      for (const one of steps) {
        // A real file system replaces empty directories; the store never asks for it.
        if (
          one.call === "rename" &&
          (await fs.readdir(base)).some((entry) => entry.name === one.to && entry.isDirectory())
        )
          continue;
        if (one.call === "rename" && fs.lstatSync(join(base, one.to))?.isDirectory()) continue;
        if (one.call === "rename" && one.to.startsWith(`${one.name}/`)) continue;
        expect(await perform(fs, base, one), JSON.stringify(one)).toBe(await perform(realFs, mirror, one));
        expect(await visible(fs, base)).toEqual(tree(mirror));
      }
      for (const path of ["", "d", "e", "d/f"]) {
        if (fs.lstatSync(join(base, path))?.isDirectory())
          await syncDirectory(fs, path === "" ? base : join(base, path));
      }
      for (const path of Object.keys(tree(mirror)).filter((path) => !path.endsWith("/"))) {
        await fs.fsync(await fs.open(join(base, path), O_RDWR, 0));
      }
      expect(tree(base)).toEqual(tree(mirror));
    }),
    { numRuns: 150 },
  );
});
