import { dirname } from "node:path";
import type { Owner } from "./owner.js";
import { isOwnerConfigFile } from "./owner-config.js";
import type { Root } from "./root.js";
import { afterwards } from "./storage-error.js";
import type { Trash, TrashItem } from "./trash.js";

export interface SoftDeleted {
  readonly item: TrashItem;
  readonly moved: boolean;
  readonly seq: number;
}

/** Moves an owner's directory to the trash, within an exclusive turn of that owner. */
export async function moveToTrash(
  owner: Owner,
  trash: Trash,
  root: Root,
  how: { readonly now: number; readonly reason: string; readonly left: () => void },
): Promise<SoftDeleted> {
  const { fs } = root;
  if (!(await hasSomethingToMove(owner, root))) {
    const item = (await trash.list(owner.ref))[0] ?? (await trash.make(owner.ref, how.now, how.reason));
    if (item.hasPayload) await syncMove(owner, item, root);
    await owner.removeEmptyDirectory();
    return { item, moved: false, seq: owner.reportedSeq };
  }
  // Whoever has the name next starts above, and watchers from before must list again.
  const seq = Math.max(owner.seq, root.seq) + 1;
  await root.raiseSeq(seq);
  const item = await trash.make(owner.ref, how.now, how.reason);
  await fs.rename(owner.directory, item.payload);
  how.left();
  await afterwards(() => syncMove(owner, item, root));
  return { item: { ...item, hasPayload: true }, moved: true, seq };
}

/** Also by a second try: the first one may have moved the directory and failed here. */
async function syncMove(owner: Owner, item: TrashItem, { fs, directories }: Root): Promise<void> {
  await directories.sync(dirname(item.payload));
  const from = dirname(owner.directory);
  if (fs.lstatSync(from) !== undefined) await directories.sync(from);
}

async function hasSomethingToMove(owner: Owner, { fs }: Root): Promise<boolean> {
  if (!owner.exists) return false;
  const isEmptyLog = (name: string): boolean =>
    owner.logs.some(
      (log) => name === `${log.kind}.jsonl` && log.state.index.live === 0 && log.state.corruptLines === 0,
    );
  return (await fs.readdir(owner.directory)).some(({ name }) => !isOwnerConfigFile(name) && !isEmptyLog(name));
}
