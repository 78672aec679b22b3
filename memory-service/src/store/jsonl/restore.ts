import { dirname } from "node:path";
import { ReverieError } from "@reverie/service-kit/errors";
import { KINDS } from "../store.js";
import { encodeCleared, encodeForget, encodeHead } from "./line.js";
import { Log, type LogOptions } from "./log.js";
import { TOMBSTONE_MS } from "./log-state.js";
import type { Owner } from "./owner.js";
import { isOwnerConfigFile } from "./owner-config.js";
import { isRewriteLeftover } from "./rewrite.js";
import type { Root } from "./root.js";
import { afterwards } from "./storage-error.js";
import type { TrashItem } from "./trash.js";

/**
 * Puts a payload in the place of an owner without live entries, within an exclusive turn of that owner. What the
 * owner's directory holds by now goes into the payload first, so that one rename brings all of it: a crash before
 * leaves a payload that can be restored again.
 */
export async function restorePayload(
  owner: Owner,
  item: TrashItem,
  root: Root,
  options: LogOptions & { readonly renamed: () => void },
): Promise<void> {
  const { fs, directories } = root;
  if (owner.live > 0) throw conflict("the owner holds live entries", "entries");
  const present = owner.exists ? (await fs.readdir(owner.directory)).map((entry) => entry.name) : [];
  const inPayload = new Set((await fs.readdir(item.payload)).map((entry) => entry.name));
  const foreign = present.filter((name) => !isLogFile(name) && !isOwnerConfigFile(name));
  const clash =
    foreign.find((name) => inPayload.has(name)) ?? owner.logs.find((log) => log.state.corruptLines > 0)?.kind;
  if (clash !== undefined) throw conflict("the owner's directory holds a file of the same name", clash);

  const logs = KINDS.map((kind) => new Log(kind, item.payload, options));
  try {
    for (const log of logs) await log.open();
    const seq = Math.max(owner.seq, root.seq, ...logs.map((log) => log.state.maxSeq)) + 1;
    await root.raiseSeq(seq);
    for (const log of logs) await extend(log, owner.log(log.kind), seq, options.now());
  } finally {
    await closeAll(logs);
  }
  const moved = [...foreign, ...present.filter((name) => isOwnerConfigFile(name) && !name.endsWith(".tmp"))];
  const parent = dirname(owner.directory);
  const bring = async (): Promise<void> => {
    for (const name of moved) await fs.rename(`${owner.directory}/${name}`, `${item.payload}/${name}`);
    await directories.sync(item.payload);
    if (owner.exists) await directories.remove(owner.directory);
    await directories.ensure(parent);
    await fs.rename(item.payload, owner.directory);
  };
  // What was taken out of the owner's directory isn't put back.
  await (owner.exists ? afterwards(bring) : bring());
  options.renamed();
  await afterwards(async () => {
    await directories.sync(parent);
    await directories.sync(dirname(item.payload));
  });
}

/** The restored log goes on above every seq of the owner's lives, and still knows what was forgotten meanwhile. */
async function extend(log: Log, present: Log, seq: number, now: number): Promise<void> {
  const since = now - TOMBSTONE_MS;
  const lines = [
    ...present.state.tombstones
      .filter(({ ts }) => ts > since)
      .map(({ id, hash, ts }) => encodeForget(id, hash, undefined, seq, ts)),
    ...present.state.cleared.filter(({ ts }) => ts > since).map(({ hashes, ts }) => encodeCleared(hashes, seq, ts)),
  ];
  if (!log.exists && lines.length === 0) return;
  lines.push(encodeHead(seq, seq, log.state.dropped));
  if (!log.exists) await log.create();
  await log.write(Buffer.concat(lines));
  await log.sync();
}

/** All of them, whichever fails. */
async function closeAll(logs: readonly Log[]): Promise<void> {
  const closed = await Promise.allSettled(logs.map((log) => log.close()));
  for (const one of closed) if (one.status === "rejected") throw one.reason;
}

function isLogFile(name: string): boolean {
  return KINDS.some((kind) => name === `${kind}.jsonl`) || isRewriteLeftover(name);
}

function conflict(what: string, name: string): ReverieError {
  return new ReverieError("TRASH_RESTORE_CONFLICT", `${what}: soft-delete the owner first, then restore this ref`, {
    metadata: { conflict: name },
  });
}
