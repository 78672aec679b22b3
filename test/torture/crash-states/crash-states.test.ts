import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Fs, O_DIRECTORY } from "../../../memory-service/src/store/jsonl/fs.js";
import { seededRandom } from "../../lib/random.js";
import { volatileFs } from "../volatile/volatile-fs.js";
import { controls } from "./controls.js";
import { crashState } from "./crash-state.js";
import { record } from "./record.js";
import { runStates } from "./run-states.js";
import { openOn, owners, Promised } from "./store-script.js";
import { ROOT, Trace } from "./trace.js";

const TIMEOUT_MS = 300_000;

function emptyDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), "reverie-crash-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test("a crash or a kill at any moment loses nothing, whatever the disk has of what wasn't synced", {
  timeout: TIMEOUT_MS,
}, async () => {
  const dir = emptyDirectory();
  const whole = await record({ base: join(dir, "whole") });
  expect(whole.changes).toBeGreaterThan(150);
  const traces = [whole];
  for (const fatal of [30, 90, 150]) traces.push(await record({ base: join(dir, "killed"), fatal }));
  expect(traces.flatMap(({ wrong }) => wrong)).toEqual([]);
  const runs = await runStates({ dir, traces, states: 100, seed: Date.now() });
  expect(runs.wrong).toEqual([]);
  expect(runs.states).toBe(100);
});

test("a process that is killed while it makes the data directory leaves nothing that its successor's writes are lost with", {
  timeout: TIMEOUT_MS,
}, async () => {
  const dir = emptyDirectory();
  const traces = [];
  for (const fatal of [0, 1, 2, 3]) traces.push(await record({ base: join(dir, "killed"), fatal }));
  const runs = await runStates({ dir, traces, states: 60, seed: 1 });
  expect(runs.wrong).toEqual([]);
});

test.each(controls)(
  "$name, the same states are found broken",
  { timeout: TIMEOUT_MS },
  async ({ name, ...options }) => {
    const dir = emptyDirectory();
    const trace = await record({ base: join(dir, name), ...options });
    const runs = await runStates({ dir, traces: [trace], states: 80, seed: 1 });
    expect(runs.broken).toBeGreaterThan(0);
  },
);

test("a state holds what was synced, and of the rest what the habit says", () => {
  const trace = new Trace();
  const file = trace.newNode("file");
  for (const action of [
    { type: "names", edits: [{ directory: ROOT, name: "a", node: file }] },
    { type: "write", node: file, at: 0, bytes: Buffer.from("synced ") },
    { type: "sync", node: file },
    { type: "sync", node: ROOT },
    { type: "write", node: file, at: 7, bytes: Buffer.from("not") },
    { type: "names", edits: [{ directory: ROOT, name: "b", node: trace.newNode("file") }] },
  ] as const) {
    trace.end(trace.begin(action));
  }
  const state = (bytes: "dropped" | "kept" | "zeroed" | "torn", names: "dropped" | "kept"): Record<string, string> =>
    Object.fromEntries(
      [...crashState(trace, trace.tick, { bytes, names }, seededRandom(1))].map(([path, text]) => [path, `${text}`]),
    );
  expect(state("dropped", "dropped")).toEqual({ a: "synced " });
  expect(state("kept", "kept")).toEqual({ a: "synced not", b: "" });
  expect(state("zeroed", "dropped")).toEqual({ a: "synced \0\0\0" });
  expect(state("torn", "dropped").a).toMatch(/^synced (n|no|not)?$/);
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
