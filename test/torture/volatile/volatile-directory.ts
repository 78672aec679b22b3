import { constants, mkdirSync, openSync, readdirSync, readFileSync, renameSync, unlinkSync } from "node:fs";
import { type DiskHabits, pause, VolatileFile } from "./volatile-file.js";

export type Node = FileNode | DirectoryNode;

/** Where the disk has a file or directory: under a name of a directory, or under none that anybody finds. */
interface Place {
  readonly directory: DirectoryNode | undefined;
  readonly name: string;
}

/** A change of names that waits for a sync of a directory it is in. */
interface NameChange {
  readonly number: number;
  readonly directories: readonly DirectoryNode[];
  readonly perform: () => void;
}

/** What all nodes of one volatile file system share. */
export interface Disk {
  readonly base: string;
  /** Holds what has no durable name yet, or no longer. On the same file system as `base`. */
  readonly limbo: string;
  readonly habits: DiskHabits;
  /** Makes names in `limbo` and orders changes. */
  count: number;
  /** Whose real files are open. */
  readonly files: Set<VolatileFile>;
  /** Nothing reaches the real files any more. */
  off: boolean;
}

export class FileNode {
  private opened: VolatileFile | undefined;

  constructor(
    private readonly disk: Disk,
    public place: Place,
  ) {}

  static make(disk: Disk, mode: number): FileNode {
    const node = new FileNode(disk, { directory: undefined, name: `file-${disk.count++}` });
    const fd = openSync(realPath(disk, node.place), constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, mode);
    node.hold(fd, Buffer.alloc(0));
    return node;
  }

  /** Read from the disk when first needed: at the latest when it is opened. */
  load(): VolatileFile {
    if (this.opened !== undefined) return this.opened;
    const path = realPath(this.disk, this.place);
    return this.hold(openSync(path, constants.O_RDWR), readFileSync(path));
  }

  private hold(fd: number, durable: Buffer): VolatileFile {
    this.opened = new VolatileFile(fd, durable, this.disk.habits);
    this.disk.files.add(this.opened);
    return this.opened;
  }
}

/** One directory: its names as processes see them, and the changes that the disk doesn't have yet. */
export class DirectoryNode {
  private readonly pending: NameChange[] = [];
  private known: Map<string, Node> | undefined;

  constructor(
    private readonly disk: Disk,
    public place: Place,
  ) {}

  static make(disk: Disk, mode: number): DirectoryNode {
    const node = new DirectoryNode(disk, { directory: undefined, name: `directory-${disk.count++}` });
    mkdirSync(realPath(disk, node.place), { mode });
    return node;
  }

  get path(): string {
    return realPath(this.disk, this.place);
  }

  get names(): ReadonlyMap<string, Node> {
    return this.entries;
  }

  add(name: string, node: Node): void {
    this.entries.set(name, node);
    this.change([this], () => move(this.disk, node, { directory: this, name }));
  }

  remove(name: string, node: Node): void {
    this.entries.delete(name);
    this.change([this], () => {
      if (node instanceof FileNode) unlinkSync(realPath(this.disk, node.place));
      else move(this.disk, node, { directory: undefined, name: `removed-${this.disk.count++}` });
    });
  }

  /** One step, also between directories, as journals make it: a sync of either makes it durable. */
  rename(name: string, node: Node, target: DirectoryNode, newName: string): void {
    this.entries.delete(name);
    target.entries.set(newName, node);
    this.change([...new Set([this, target])], () => move(this.disk, node, { directory: target, name: newName }));
  }

  /** Makes all changes until now durable, in their order, those of other directories left alone where they can be. */
  async sync(): Promise<void> {
    const until = this.disk.count;
    while (this.pending.length > 0 && this.pending[0].number < until) {
      await pause(this.disk.habits);
      if (this.disk.off) return;
      this.performFirst(until);
    }
  }

  private get entries(): Map<string, Node> {
    this.known ??= this.load();
    return this.known;
  }

  private load(): Map<string, Node> {
    const found = new Map<string, Node>();
    for (const entry of readdirSync(this.path, { withFileTypes: true })) {
      const place = { directory: this, name: entry.name };
      if (entry.isDirectory()) found.set(entry.name, new DirectoryNode(this.disk, place));
      else if (entry.isFile()) found.set(entry.name, new FileNode(this.disk, place));
      else throw new Error(`${entry.name} is neither a file nor a directory: not modelled`);
    }
    return found;
  }

  private change(directories: readonly DirectoryNode[], perform: () => void): void {
    const change = { number: this.disk.count++, directories, perform };
    for (const directory of directories) directory.pending.push(change);
    const { random, earlyChance } = this.disk.habits;
    if (random() < earlyChance) while (this.pending.length > 0) this.performFirst(this.disk.count);
  }

  private performFirst(until: number): void {
    const change = this.pending[0];
    if (change === undefined || change.number >= until) return;
    for (const other of change.directories) {
      while (other !== this && other.pending[0] !== change) other.performFirst(change.number);
    }
    for (const directory of change.directories) directory.pending.shift();
    change.perform();
  }
}

function move(disk: Disk, node: Node, to: Place): void {
  renameSync(realPath(disk, node.place), realPath(disk, to));
  node.place = to;
}

function realPath(disk: Disk, { directory, name }: Place): string {
  return directory === undefined ? (name === "" ? disk.base : `${disk.limbo}/${name}`) : `${directory.path}/${name}`;
}
