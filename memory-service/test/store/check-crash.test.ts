import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { mortalFs } from "../../../test/torture/crash-states/mortal-fs.js";
import { VolatileDisk } from "../../../test/torture/volatile/volatile-disk.js";
import { type Fs, realFs } from "../../src/store/jsonl/fs.js";
import { openJsonlStore } from "../../src/store/jsonl/jsonl-store.js";
import { encodeForget } from "../../src/store/jsonl/line.js";
import type { OwnerRef } from "../../src/store/store.js";
import { alter, check, logOf, withStore } from "./check-support.js";
import { agent, entry, listAll } from "./support.js";

// A check that mends a damaged directory dies at each of its changes in turn, by a kill or a power cut, with and
// without what the disk wrote early. Then the service opens it, then a second check ends the work.

const other: OwnerRef = { kind: "user", id: "u" };
const gone: OwnerRef = { kind: "user", id: "gone" };

/** Bytes that were taken out of logs and must be somewhere, and the texts that are served before and after adoption. */
const REMOVED = ['?"id":"bad"', "SEMANTIC stale", "STALE text", '{"id":"torn', "in the trash, BAD"];
const INTACT = ["a: text of a", "keep: text of keep"];
const ADOPTED = ["s: SEMANTIC stale", "stale: STALE text"];

async function damagedDirectory(root: string, seqFile: boolean): Promise<void> {
  await withStore(root, async (store) => {
    const ids = ["a", "bad", "stale", "erased", "keep"];
    await store.append(
      agent,
      ids.map((id) => entry(id, id === "stale" ? "stale text" : `text of ${id}`)),
    );
    await store.append(agent, [entry("s", "semantic stale", { kind: "semantic" })]);
    await store.append(other, [entry("o", "text of o")]);
    await store.append(gone, [entry("g", "in the trash, bad"), entry("h", "in the trash")]);
    await store.softDelete(gone, "");
    const [ref] = await store.listTrash(gone);
    alter(join(root, ".trash", ref.refId, "payload", "episodic.jsonl"), (text) =>
      text.replace('{"id":"g"', '?"id":"g"').replace("trash, bad", "trash, BAD"),
    );
  });
  alter(logOf(root, "semantic"), (text) => text.replace("semantic stale", "SEMANTIC stale"));
  alter(logOf(root), (text) => {
    const at = text.indexOf('{"id":"erased"');
    const len = text.indexOf("\n", at) - at;
    const harmed = text.replace('{"id":"bad"', '?"id":"bad"').replace("stale text", "STALE text");
    return `${harmed}${encodeForget("erased", "0123456789abcdef", { at, len }, 7, 1)}{"id":"torn`;
  });
  alter(join(root, ".seq"), () => (seqFile ? '{"seq":1}\n' : "\0\0"));
}

/** All that is readable below a directory: logs as they are, what is kept decoded. */
async function everything(fs: Fs, path: string): Promise<string> {
  let all = "";
  for (const { name } of await fs.readdir(path)) {
    const child = `${path}/${name}`;
    if (fs.lstatSync(child)?.isDirectory()) all += await everything(fs, child);
    else if (!/\.(?:torn|quarantine)(?:\.\d+)?$/.test(name)) all += (await fs.readFile(child)).toString("latin1");
    else {
      for (const line of (await fs.readFile(child)).toString().split("\n")) {
        // A crash may leave a part of a record that was not yet acted upon.
        const base64 = /"base64":"([^"]*)"\}$/.exec(line)?.[1];
        if (base64 !== undefined) all += Buffer.from(base64, "base64").toString("latin1");
      }
    }
  }
  return all;
}

async function served(fs: Fs, root: string): Promise<{ texts: string[]; corrupt: number }> {
  const store = await openJsonlStore({ root, fs, reserveBytes: 0 });
  try {
    const texts = (await listAll(store)).map(({ id, text }) => `${id}: ${text}`).sort();
    if ((await listAll(store, {}, other)).length !== 1) texts.push("o is lost");
    return { texts, corrupt: (await store.describe(agent, { minSeq: 0 })).corruptLines };
  } finally {
    await store.close();
  }
}

interface Run {
  readonly survived: boolean;
  readonly wrong: string[];
}

interface Scenario {
  readonly death: "cut" | "kill";
  /** How likely the disk writes a change before it is asked to. */
  readonly early: number;
  readonly seqFile: boolean;
  /** What is between the check and the disk. */
  readonly between?: (fs: Fs) => Fs;
}

async function dieAndGoOn(template: string, dir: string, fatal: number, scenario: Scenario): Promise<Run> {
  const { death, early, seqFile, between = (fs: Fs) => fs } = scenario;
  const base = join(dir, String(fatal));
  const root = join(base, "data");
  cpSync(template, root, { recursive: true });
  const machine = new VolatileDisk({ base, limbo: `${base}-limbo`, seed: fatal, earlyChance: early });
  const wrong: string[] = [];
  const say = (when: string, what: string): number => wrong.push(`change ${fatal}, ${when}: ${what}`);
  const compare = async (fs: Fs, when: string, finished: boolean): Promise<void> => {
    const all = await everything(fs, root);
    for (const bytes of REMOVED) if (!all.includes(bytes)) say(when, `${bytes} is nowhere`);
    if (!seqFile && fs.lstatSync(`${root}/.seq`) === undefined) say(when, ".seq is gone");
    if (!seqFile && !finished) return;
    const { texts, corrupt } = await served(fs, root);
    const must = finished ? [...INTACT, ...ADOPTED] : INTACT;
    for (const text of must) if (!texts.includes(text)) say(when, `${text} isn't served`);
    for (const text of texts) if (![...INTACT, ...ADOPTED].includes(text)) say(when, `${text} is served`);
    if (new Set(texts).size < texts.length) say(when, `served twice: ${texts.join(", ")}`);
    if (finished && corrupt > 0) say(when, `${corrupt} corrupt lines`);
    if (finished && all.includes("text of erased")) say(when, "what was forgotten is still there");
  };

  const disk = machine.boot();
  const mortal = mortalFs(between(disk), fatal);
  let survived = false;
  const life = async (): Promise<void> => {
    await check(root, { fix: true, adopt: true, fs: mortal.fs });
    survived = true;
  };
  await Promise.race([life(), mortal.death]);
  const next = death === "kill" ? disk : machine.boot();
  await compare(next, `after the ${death}`, survived && death === "kill");
  const second = await check(root, { fix: true, adopt: true, fs: next });
  if (second.summary.remaining > 0) say("second run", JSON.stringify(second.findings.filter(({ done }) => !done)));
  await compare(next, "after a second run", true);
  const last = machine.boot();
  await compare(last, "after a power cut then", true);
  const third = await check(root, { fix: true, adopt: true, fs: last });
  if (third.findings.length > 0) say("third run", JSON.stringify(third.findings));
  machine.end();
  rmSync(base, { recursive: true });
  return { survived, wrong };
}

async function template(seqFile: boolean): Promise<{ dir: string; from: string }> {
  const dir = mkdtempSync(join(tmpdir(), "reverie-check-crash-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const from = join(dir, "template");
  mkdirSync(from);
  await damagedDirectory(from, seqFile);
  return { dir, from };
}

async function dieEverywhere(scenario: Scenario, most = Infinity): Promise<{ changes: number; wrong: string[] }> {
  const { dir, from } = await template(scenario.seqFile);
  const wrong: string[] = [];
  for (let fatal = 0; ; fatal++) {
    const run = await dieAndGoOn(from, dir, fatal, scenario);
    wrong.push(...run.wrong);
    if (run.survived || wrong.length >= most) return { changes: fatal, wrong };
  }
}

test.each<Scenario>([
  { death: "cut", early: 0, seqFile: true },
  { death: "cut", early: 0.5, seqFile: true },
  { death: "kill", early: 0, seqFile: true },
  { death: "cut", early: 0.5, seqFile: false },
])(
  "a check that dies at any change loses nothing, and a second one ends its work: %o",
  {
    timeout: 120_000,
  },
  async (scenario) => {
    const { changes, wrong } = await dieEverywhere(scenario);
    expect(wrong).toEqual([]);
    expect(changes).toBeGreaterThan(40);
  },
);

test("if the quarantine were not synced before the erase, the same cuts would find bytes that are nowhere", {
  timeout: 120_000,
}, async () => {
  const unsynced = (fs: Fs): Fs => {
    const files = new Set<number>();
    return {
      ...fs,
      open: async (path, flags, mode) => {
        const fd = await fs.open(path, flags, mode);
        if (path.endsWith(".quarantine")) files.add(fd);
        else files.delete(fd);
        return fd;
      },
      fdatasync: (fd) => (files.has(fd) ? Promise.resolve() : fs.fdatasync(fd)),
    };
  };
  const { wrong } = await dieEverywhere({ death: "cut", early: 0, seqFile: true, between: unsynced }, 1);
  expect(wrong.join("\n")).toContain("is nowhere");
});

/** The `n`-th call (from 0) of a file system fails once; of writes half is done. */
function failing(n: number, calls: { count: number }): Fs {
  const fs: Record<string, unknown> = {};
  for (const [name, call] of Object.entries(realFs) as [string, (...args: unknown[]) => unknown][]) {
    fs[name] = (...args: unknown[]): unknown => {
      if (calls.count++ !== n) return call(...args);
      const error = Object.assign(new Error("injected"), { code: name === "write" ? "ENOSPC" : "EIO" });
      if (name.endsWith("Sync")) throw error;
      if (name === "close") return (call(...args) as Promise<void>).then(() => Promise.reject(error));
      if (name !== "write") return Promise.reject(error);
      const [fd, bytes, position] = args as [number, Uint8Array, number];
      return realFs.write(fd, bytes.subarray(0, bytes.length / 2), position).then(() => Promise.reject(error));
    };
  }
  return fs as unknown as Fs;
}

test("whatever call to the file system fails, nothing is lost, and the next check ends the work", {
  timeout: 120_000,
}, async () => {
  const { dir, from } = await template(true);
  const wrong: string[] = [];
  let told = 0;
  // Every fifth call, another fifth each time; CHECK_STEP=1 takes them all.
  const step = Number(process.env.CHECK_STEP ?? 5);
  for (let n = Date.now() % step; ; n += step) {
    const root = join(dir, String(n));
    cpSync(from, root, { recursive: true });
    const calls = { count: 0 };
    const first = await check(root, { fix: true, adopt: true, fs: failing(n, calls) }).catch(() => undefined);
    if (first === undefined || first.findings.some(({ problem }) => /not-mended|unreadable/.test(problem))) told++;
    const all = await everything(realFs, root);
    for (const bytes of REMOVED) if (!all.includes(bytes)) wrong.push(`call ${n}: ${bytes} is nowhere`);
    const { summary } = await check(root, { fix: true, adopt: true });
    if (summary.remaining > 0) wrong.push(`call ${n}: ${summary.remaining} remain`);
    const { texts, corrupt } = await served(realFs, root);
    if (texts.join() !== [...INTACT, ...ADOPTED].sort().join()) wrong.push(`call ${n}: ${texts.join()} is served`);
    if (corrupt > 0) wrong.push(`call ${n}: ${corrupt} corrupt lines`);
    rmSync(root, { recursive: true });
    if (calls.count <= n) break;
  }
  expect(wrong).toEqual([]);
  expect(told).toBeGreaterThan(100 / step);
});
