import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { between, pick, type Random } from "../../lib/random.js";
import { touches } from "./recording-fs.js";
import { type Action, type NodeId, ROOT, type Step, type Trace } from "./trace.js";

/** What may become of the bytes of a file that were not synced. */
export const BYTES = ["dropped", "kept", "zeroed", "torn", "pages", "sectors"] as const;
/** What may become of names that were not synced. */
export const NAMES = ["dropped", "kept", "in order", "any"] as const;

export interface Habit {
  /** "mixed": each file its own. */
  readonly bytes: (typeof BYTES)[number] | "mixed";
  readonly names: (typeof NAMES)[number];
}

const PAGE_BYTES = 4096;
const SECTOR_BYTES = 512;

/** What a crash leaves: relative paths, `undefined` for directories. */
export type Files = ReadonlyMap<string, Buffer | undefined>;

/**
 * What the disk holds after a crash at a tick of a trace.
 *
 * Durable is what a sync covered that began after it had ended, and that ended before the crash: bytes and size by a
 * sync of the file, a name by a sync of its directory, a name that moved between two by a sync of both. Of the rest,
 * any part may be there, the step under way at the crash included:
 * - bytes: none; all; the file's new length with NULs instead of them; the first steps and a part of the next one, cut
 *   at any byte; each page of 4 KiB, or sector of 512 bytes, as it was after any of the steps;
 * - names: none; all; of each directory the first so-many; any subset, of all directories, in their order.
 * A rename is one step: both of its names change, or none.
 *
 * Not modelled: sectors with neither old nor new bytes, durable data that goes bad, a disk that lies about a sync, two
 * crashes in a row (but a kill, then a crash), modes, links, times.
 */
export function crashState(trace: Trace, tick: number, habit: Habit, random: Random): Files {
  const issued = trace.steps.filter(({ begin }) => begin <= tick);
  const syncs = issued.filter(({ action, end }) => action.type === "sync" && end <= tick);
  const changes = issued
    .filter(({ action }) => action.type !== "sync")
    .sort((a, b) => a.end - b.end || a.begin - b.begin);
  const covered = ({ end }: Step, node: NodeId): boolean =>
    syncs.some(({ action, begin }) => action.type === "sync" && action.node === node && end < begin);
  const names = namesAfter(changes, covered, habit.names, random);

  const files = new Map<string, Buffer | undefined>();
  const visit = (directory: NodeId, prefix: string): void => {
    for (const [name, node] of names.get(directory) ?? []) {
      const path = prefix + name;
      if (trace.directories.has(node)) {
        files.set(path, undefined);
        visit(node, `${path}/`);
        continue;
      }
      const own = changes.filter(({ action }) => action.type !== "names" && touches(action, node));
      const durable = own.filter((step) => covered(step, node)).map(({ action }) => action);
      const pending = own.filter((step) => !covered(step, node)).map(({ action }) => action);
      const bytes = habit.bytes === "mixed" ? pick(random, BYTES) : habit.bytes;
      files.set(path, contentAfter(durable, pending, bytes, random));
    }
  };
  visit(ROOT, "");
  return files;
}

function namesAfter(
  changes: readonly Step[],
  covered: (step: Step, node: NodeId) => boolean,
  habit: Habit["names"],
  random: Random,
): Map<NodeId, Map<string, NodeId>> {
  const names = new Map<NodeId, Map<string, NodeId>>();
  /** Of directories whose next names don't come any more. */
  const ended = new Set<NodeId>();
  const chance = random();
  for (const step of changes) {
    const { action } = step;
    if (action.type !== "names") continue;
    const directories = action.edits.map(({ directory }) => directory);
    if (!directories.every((directory) => covered(step, directory))) {
      if (habit === "dropped") continue;
      if (habit === "any" && random() < chance) continue;
      if (habit === "in order" && (directories.some((one) => ended.has(one)) || random() < chance)) {
        for (const one of directories) ended.add(one);
        continue;
      }
    }
    for (const { directory, name, node } of action.edits) {
      const known = names.get(directory) ?? new Map<string, NodeId>();
      names.set(directory, known);
      if (node === undefined) known.delete(name);
      else known.set(name, node);
    }
  }
  return names;
}

function contentAfter(
  durable: readonly Action[],
  pending: readonly Action[],
  habit: (typeof BYTES)[number],
  random: Random,
): Buffer {
  const base = durable.reduce(apply, Buffer.alloc(0));
  if (pending.length === 0 || habit === "dropped") return base;
  if (habit === "torn") {
    const whole = between(random, 0, pending.length - 1);
    const next = pending[whole];
    const before = pending.slice(0, whole).reduce(apply, base);
    if (next.type !== "write") return before;
    return apply(before, { ...next, bytes: next.bytes.subarray(0, between(random, 0, next.bytes.length)) });
  }
  const versions = [base];
  for (const action of pending) versions.push(apply(versions[versions.length - 1], action));
  const last = versions[versions.length - 1];
  if (habit === "kept") return last;
  if (habit === "zeroed") return resized(base, last.length);
  const unit = habit === "pages" ? PAGE_BYTES : SECTOR_BYTES;
  const content = Buffer.alloc(pick(random, versions).length);
  for (let at = 0; at < content.length; at += unit) {
    const version = pick(random, versions);
    version.subarray(at, at + unit).copy(content, at);
  }
  return content;
}

function apply(content: Buffer, action: Action): Buffer {
  if (action.type === "truncate") return resized(content, action.length);
  if (action.type !== "write") return content;
  const changed = resized(
    content,
    Math.max(content.length, action.bytes.length === 0 ? 0 : action.at + action.bytes.length),
  );
  action.bytes.copy(changed, action.at);
  return changed;
}

function resized(content: Buffer, length: number): Buffer {
  const changed = Buffer.alloc(length);
  content.copy(changed);
  return changed;
}

/** Equal for equal states. */
export function digestOf(files: Files): string {
  const hash = createHash("sha256");
  // The lock's text is information only.
  for (const [path, bytes] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
    if (!path.endsWith(".lock")) hash.update(`${path}\0${bytes?.length ?? "/"}\0`).update(bytes ?? "");
  return hash.digest("hex");
}

/** Makes it below an existing directory. */
export function writeState(files: Files, base: string): void {
  for (const [path, bytes] of files) {
    if (bytes === undefined) mkdirSync(join(base, path), { mode: 0o700 });
    else writeFileSync(join(base, path), bytes, { mode: 0o600 });
  }
}
