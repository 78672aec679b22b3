import { KINDS, OWNER_KINDS, type OwnerKind } from "../../store.js";
import type { Directories } from "../directories.js";
import { errorCode, type Fs } from "../fs.js";
import { formOf } from "../owner-names.js";
import { isLeaving, isTrashRef, Trash } from "../trash.js";
import type { OwnerTarget } from "./check-owner.js";
import type { Observation } from "./finding.js";

/** What a data directory holds to be checked, and what is odd about where things stand. */
export interface Targets {
  readonly owners: OwnerTarget[];
  /** Those in the trash come first: what they say of .seq counts for the others. */
  readonly observations: Observation[];
}

const TRASH = ".trash";

export async function findTargets(fs: Fs, directories: Directories, root: string): Promise<Targets> {
  const targets: Targets = { owners: [], observations: [] };
  const { observations } = targets;
  const names = await sortedNames(fs, root);
  for (const entry of names) {
    const known = entry.name === TRASH || OWNER_KINDS.includes(entry.name as OwnerKind) || entry.name === "lost+found";
    if (entry.isDirectory() && !known) observations.push({ path: entry.name, problem: "unknown-directory" });
  }
  const isThere = (name: string): boolean => fs.lstatSync(`${root}/${name}`) !== undefined;
  for (const name of [TRASH, ...OWNER_KINDS].filter(isThere)) {
    try {
      if (name === TRASH) await findInTrash(fs, directories, root, targets);
      else await findOfKind(fs, root, name as OwnerKind, targets);
    } catch (error) {
      observations.push({ path: name, problem: "unreadable", detail: errorCode(error) });
    }
  }
  return targets;
}

/** Of the logs of these owners, in bytes. */
export function totalBytes(fs: Fs, owners: readonly OwnerTarget[]): number {
  let bytes = 0;
  for (const { directory } of owners) {
    for (const kind of KINDS) {
      try {
        bytes += fs.lstatSync(`${directory}/${kind}.jsonl`)?.size ?? 0;
      } catch {
        // Told when it is to be read.
      }
    }
  }
  return bytes;
}

async function findOfKind(fs: Fs, root: string, kind: OwnerKind, { owners, observations }: Targets): Promise<void> {
  const forms = new Map<string, string>();
  for (const entry of await sortedNames(fs, `${root}/${kind}`)) {
    const path = `${kind}/${entry.name}`;
    if (entry.isFile()) observations.push({ path, problem: "stray-file" });
    else if (!entry.isDirectory()) observations.push({ path, problem: "owner-unsafe" });
    else {
      const form = formOf({ kind, id: entry.name });
      const twin = forms.get(form);
      if (twin !== undefined) observations.push({ path, problem: "name-twins", detail: JSON.stringify(twin) });
      else forms.set(form, entry.name);
      owners.push({ directory: `${root}/${path}`, path, inTrash: false });
    }
  }
}

async function findInTrash(
  fs: Fs,
  directories: Directories,
  root: string,
  { owners, observations }: Targets,
): Promise<void> {
  const listed = new Set((await new Trash(fs, directories, root, 0).list(undefined)).map(({ payload }) => payload));
  for (const entry of await sortedNames(fs, `${root}/${TRASH}`)) {
    const path = `${TRASH}/${entry.name}`;
    if (!entry.isDirectory()) continue;
    if (isLeaving(entry.name)) observations.push({ path, problem: "trash-leaving" });
    else if (!isTrashRef(entry.name)) observations.push({ path, problem: "unknown-directory" });
    else {
      if (!listed.has(`${root}/${path}/payload`)) observations.push({ path, problem: "trash-meta-unreadable" });
      const payloads = (await sortedNames(fs, `${root}/${path}`)).filter(({ name }) => /^payload(?:-|$)/.test(name));
      if (payloads.length === 0) observations.push({ path, problem: "trash-without-payload" });
      for (const payload of payloads) {
        const { name } = payload;
        if (payload.isDirectory())
          owners.push({ directory: `${root}/${path}/${name}`, path: `${path}/${name}`, inTrash: true });
        else observations.push({ path: `${path}/${name}`, problem: "owner-unsafe" });
      }
    }
  }
}

interface Name {
  readonly name: string;
  isDirectory(): boolean;
  isFile(): boolean;
}

async function sortedNames(fs: Fs, path: string): Promise<Name[]> {
  return (await fs.readdir(path)).sort((a, b) => (a.name < b.name ? -1 : 1));
}
