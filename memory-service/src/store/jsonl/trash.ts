import { createHash, randomBytes } from "node:crypto";
import { basename, dirname } from "node:path";
import { ReverieError } from "@reverie/service-kit/errors";
import { OWNER_KINDS, type OwnerKind, type OwnerRef, type TrashRef } from "../store.js";
import type { Directories } from "./directories.js";
import { errorCode, type Fs } from "./fs.js";
import { afterwards, asStorageError } from "./storage-error.js";

const DAY_MS = 86_400_000;
const REF_ID = /^[0-9a-f]{16}$/;
/** A ref on its way out: renamed first, so that it is gone at once however long its removal takes. */
const LEAVING = ".leaving-";
export const isTrashRef = (name: string): boolean => REF_ID.test(name);
/** Whether a directory of the trash is on its way out. */
export const isLeaving = (name: string): boolean => name.startsWith(LEAVING);
/** What can't say when it expires isn't swept, epoch milliseconds. */
const NEVER = Number.MAX_SAFE_INTEGER;

interface Meta {
  readonly ownerKind: OwnerKind;
  readonly ownerId: string;
  readonly deletedAt: number;
  readonly expiresAt: number;
  readonly reason: string;
}

export interface TrashItem extends TrashRef {
  /** Where the owner's directory stands. */
  readonly payload: string;
}

/** `<root>/.trash/<refId>/{meta.json,payload/}`: one ref, one whole payload. */
export class Trash {
  private readonly path: string;
  /** Removals that failed behind their rename, by owner and ref. */
  private readonly unfinished = new Map<string, { readonly from: string; readonly leaving: string }>();

  constructor(
    private readonly fs: Fs,
    private readonly directories: Directories,
    root: string,
    private readonly retentionMs: number,
  ) {
    this.path = `${root}/.trash`;
  }

  /** Ends removals that a crash interrupted. */
  async open(): Promise<void> {
    for (const name of await this.names())
      if (name.startsWith(LEAVING)) await this.directories.remove(`${this.path}/${name}`);
  }

  /** A ref for today that has no payload yet, its meta.json written durably. */
  async make(owner: OwnerRef, deletedAt: number, reason: string): Promise<TrashItem> {
    for (let n = 1; ; n++) {
      const refId = trashRefId(owner, deletedAt, n);
      const directory = `${this.path}/${refId}`;
      if (await this.hasPayload(refId)) continue;
      const meta = {
        id: refId,
        type: "memory",
        impl: "file",
        ownerKind: owner.kind,
        ownerId: owner.id,
        deletedAt,
        expiresAt: deletedAt + this.retentionMs,
        ...(reason === "" ? {} : { reason }),
      };
      await this.directories.ensure(directory);
      await this.directories.replaceFile(`${directory}/meta.json`, `${JSON.stringify(meta, undefined, 2)}\n`);
      return {
        refId,
        owner,
        deletedAt,
        expiresAt: meta.expiresAt,
        reason,
        hasPayload: false,
        payload: `${directory}/payload`,
      };
    }
  }

  /** Newest first. What has no readable meta.json is left alone. */
  async list(owner: OwnerRef | undefined): Promise<TrashItem[]> {
    const items: TrashItem[] = [];
    for (const name of await this.names()) {
      if (!REF_ID.test(name)) continue;
      for (const item of await this.read(name)) {
        if (owner === undefined || (item.owner.kind === owner.kind && item.owner.id === owner.id)) items.push(item);
      }
    }
    return items.sort((a, b) => b.deletedAt - a.deletedAt || (a.refId < b.refId ? -1 : 1));
  }

  /** TRASH_NOT_FOUND, in the same words for what isn't there and what is another owner's. */
  async find(owner: OwnerRef, refId: string): Promise<TrashItem> {
    // Most refs are the name of their directory; those of older payloads beside another are looked for.
    const isIt = (item: TrashItem): boolean =>
      item.refId === refId && item.owner.kind === owner.kind && item.owner.id === owner.id;
    const own = REF_ID.test(refId) ? await this.read(refId, true) : [];
    const found = own.find(isIt) ?? (await this.list(owner)).find(isIt);
    if (found !== undefined) return found;
    throw new ReverieError(
      "TRASH_NOT_FOUND",
      "the owner has no such ref in the trash; list the trash to see what it has",
      { metadata: { ref_id: refId } },
    );
  }

  /** Deletes a ref for good. Returns the bytes of its files. */
  async remove(item: TrashItem): Promise<number> {
    const directory = dirname(item.payload);
    const sibling = basename(item.payload);
    if (sibling !== "payload") return this.leave(item, item.payload, sibling);
    const others = (await this.fs.readdir(directory)).filter((entry) => entry.name.startsWith("payload-"));
    if (others.length === 0) return this.leave(item, directory, item.refId);
    // Older payloads stay; each is a ref of its own.
    return item.hasPayload ? this.leave(item, item.payload, item.refId) : 0;
  }

  /** After a restore took the payload away. */
  async forget(item: TrashItem): Promise<void> {
    await this.remove({ ...item, hasPayload: false });
  }

  /** Ends a removal that failed after the ref was gone. Returns the bytes of its files; undefined: there is none. */
  endRemoval(owner: OwnerRef, refId: string): Promise<number | undefined> {
    return this.endRemovalOf(removalKey(owner, refId));
  }

  /** Ends every such removal, and returns their bytes. */
  async endRemovals(): Promise<number> {
    let freed = 0;
    for (const key of [...this.unfinished.keys()]) freed += (await this.endRemovalOf(key)) ?? 0;
    return freed;
  }

  private async endRemovalOf(key: string): Promise<number | undefined> {
    const unfinished = this.unfinished.get(key);
    if (unfinished === undefined) return undefined;
    const { from, leaving } = unfinished;
    return afterwards(async () => {
      if (this.fs.lstatSync(from) !== undefined) await this.directories.sync(from);
      const freed = await this.directories.remove(leaving);
      await this.directories.sync(this.path);
      this.unfinished.delete(key);
      return freed;
    });
  }

  private async leave({ owner, refId }: TrashItem, path: string, name: string): Promise<number> {
    if (this.fs.lstatSync(path) === undefined) return 0;
    // A removal that broke off may have left one of this name.
    const leaving = `${this.path}/${LEAVING}${name}-${randomBytes(4).toString("hex")}`;
    await this.fs.rename(path, leaving);
    this.unfinished.set(removalKey(owner, refId), { from: dirname(path), leaving });
    return (await this.endRemoval(owner, refId)) ?? 0;
  }

  private async names(): Promise<string[]> {
    try {
      return (await this.fs.readdir(this.path)).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    }
  }

  private async hasPayload(refId: string): Promise<boolean> {
    return this.fs.lstatSync(`${this.path}/${refId}/payload`) !== undefined;
  }

  /** The ref of a directory, and one for each older payload beside its own. */
  private async read(refId: string, strict = false): Promise<TrashItem[]> {
    const directory = `${this.path}/${refId}`;
    const meta = await this.readMeta(directory, strict);
    if (meta === undefined) return [];
    const owner: OwnerRef = { kind: meta.ownerKind, id: meta.ownerId };
    const { deletedAt, expiresAt, reason } = meta;
    const base = { owner, deletedAt, expiresAt, reason };
    const items: TrashItem[] = [
      { ...base, refId, hasPayload: await this.hasPayload(refId), payload: `${directory}/payload` },
    ];
    for (const entry of await this.fs.readdir(directory)) {
      if (!entry.isDirectory() || !entry.name.startsWith("payload-")) continue;
      items.push({
        ...base,
        refId: siblingRefId(owner, deletedAt, entry.name),
        hasPayload: true,
        payload: `${directory}/${entry.name}`,
      });
    }
    return items;
  }

  /** undefined where it says nothing. `strict`: what can't be read for now is an error, not nothing. */
  private async readMeta(directory: string, strict: boolean): Promise<Meta | undefined> {
    let text: string;
    try {
      text = (await this.fs.readFile(`${directory}/meta.json`)).toString();
    } catch (error) {
      const isThere = !["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM"].includes(errorCode(error));
      if ((strict && isThere) || asStorageError(error) !== error) throw error;
      return undefined;
    }
    try {
      const meta = JSON.parse(text) as Record<string, unknown>;
      const { ownerKind, ownerId, reason } = meta;
      if (!OWNER_KINDS.includes(ownerKind as OwnerKind) || typeof ownerId !== "string") return undefined;
      const since = epochMs(meta.deletedAt);
      const deletedAt = since ?? 0;
      return {
        ownerKind: ownerKind as OwnerKind,
        ownerId,
        deletedAt,
        expiresAt: epochMs(meta.expiresAt) ?? (since === undefined ? NEVER : since + this.retentionMs),
        reason: typeof reason === "string" ? reason : "",
      };
    } catch {
      return undefined;
    }
  }
}

/** The first 16 hexadecimal digits of SHA-256 over `memory|file|<kind>|<id>|<day>`, with `|<n>` from the second payload of a day on. */
function trashRefId(owner: OwnerRef, deletedAt: number, n: number): string {
  return digest(`memory|file|${owner.kind}|${owner.id}|${Math.floor(deletedAt / DAY_MS)}${n > 1 ? `|${n}` : ""}`);
}

function removalKey({ kind, id }: OwnerRef, refId: string): string {
  return `${kind}/${id}/${refId}`;
}

function siblingRefId(owner: OwnerRef, deletedAt: number, name: string): string {
  return digest(`memory|file|${owner.kind}|${owner.id}|${Math.floor(deletedAt / DAY_MS)}|${name}`);
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** Times are epoch milliseconds; older files may hold ISO 8601. */
function epochMs(value: unknown): number | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return Math.trunc(value);
  const parsed = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed;
}
