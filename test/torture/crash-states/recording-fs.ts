import { dirname } from "node:path";
import { type Fs, O_CREAT, O_TRUNC, realFs } from "../../../memory-service/src/store/jsonl/fs.js";
import { type Action, type NodeId, ROOT, type Step, type Trace } from "./trace.js";

/** What a control leaves out: a sync that is claimed and not made. */
export type SkipSync = (node: NodeId, pending: readonly Action[]) => boolean;

/** The real file system; what it does below `base`, an empty directory at first, is recorded. */
export class RecordingFs {
  readonly fs: Fs;
  /** Ticks at which a sync was left out. */
  readonly skipped: number[] = [];
  private readonly names = new Map<NodeId, Map<string, NodeId>>([[ROOT, new Map()]]);
  private readonly open = new Map<number, NodeId>();

  constructor(
    private readonly base: string,
    private readonly trace: Trace,
    private readonly skip: SkipSync = () => false,
  ) {
    this.fs = {
      ...realFs,
      open: (path, flags, mode) => this.opened(path, flags, mode),
      close: async (fd) => {
        this.open.delete(fd);
        await realFs.close(fd);
      },
      write: async (fd, bytes, at) => {
        const node = this.open.get(fd)!;
        return this.recorded({ type: "write", node, at, bytes: Buffer.from(bytes) }, () => realFs.write(fd, bytes, at));
      },
      ftruncate: (fd, length) =>
        this.recorded({ type: "truncate", node: this.open.get(fd)!, length }, () => realFs.ftruncate(fd, length)),
      fsync: (fd) => this.synced(fd, realFs.fsync),
      fdatasync: (fd) => this.synced(fd, realFs.fdatasync),
      rename: (from, to) => {
        const node = this.lookup(from);
        const edits = [this.edit(from, undefined), this.edit(to, node)];
        return this.recorded({ type: "names", edits }, () => realFs.rename(from, to));
      },
      unlink: (path) =>
        this.recorded({ type: "names", edits: [this.edit(path, undefined)] }, () => realFs.unlink(path)),
      rmdir: (path) => this.recorded({ type: "names", edits: [this.edit(path, undefined)] }, () => realFs.rmdir(path)),
      mkdir: async (path, mode) => {
        if (this.lookup(path) !== undefined) return realFs.mkdir(path, mode);
        const node = this.trace.newNode("directory");
        this.names.set(node, new Map());
        await this.recorded({ type: "names", edits: [this.edit(path, node)] }, () => realFs.mkdir(path, mode));
      },
    };
  }

  /** As the kernel does for a process that was killed. */
  async closeAll(): Promise<void> {
    for (const fd of [...this.open.keys()]) await this.fs.close(fd);
  }

  private async opened(path: string, flags: number, mode: number): Promise<number> {
    const known = this.lookup(path);
    if (known === undefined && (flags & O_CREAT) !== 0) {
      const node = this.trace.newNode("file");
      const make = { type: "names", edits: [this.edit(path, node)] } as const;
      const fd = await this.recorded(make, () => realFs.open(path, flags, mode));
      this.open.set(fd, node);
      return fd;
    }
    const fd = await realFs.open(path, flags, mode);
    if (known === undefined) return fd;
    this.open.set(fd, known);
    if ((flags & O_TRUNC) !== 0) await this.recorded({ type: "truncate", node: known, length: 0 }, async () => {});
    return fd;
  }

  private async synced(fd: number, sync: (fd: number) => Promise<void>): Promise<void> {
    const node = this.open.get(fd)!;
    if (this.skip(node, this.pending(node))) {
      this.skipped.push(this.trace.tick);
      return;
    }
    await this.recorded({ type: "sync", node }, () => sync(fd));
  }

  private async recorded<T>(action: Action, make: () => Promise<T>): Promise<T> {
    const step = this.trace.begin(action);
    try {
      const result = await make();
      this.trace.end(step);
      if (action.type === "names") this.rename(step);
      return result;
    } catch (error) {
      this.trace.forget(step);
      throw error;
    }
  }

  private rename({ action }: Step): void {
    if (action.type !== "names") return;
    for (const { directory, name, node } of action.edits) {
      if (node === undefined) this.names.get(directory)!.delete(name);
      else this.names.get(directory)!.set(name, node);
    }
  }

  private edit(path: string, node: NodeId | undefined): { directory: NodeId; name: string; node: NodeId | undefined } {
    const parent = dirname(path);
    return { directory: this.lookup(parent) ?? ROOT, name: path.slice(parent.length + 1), node };
  }

  private lookup(path: string): NodeId | undefined {
    let node: NodeId | undefined = ROOT;
    for (const name of path.slice(this.base.length).split("/").filter(Boolean)) {
      node = node === undefined ? undefined : this.names.get(node)?.get(name);
    }
    return node;
  }

  /** What was done to the node since its last sync. */
  private pending(node: NodeId): Action[] {
    const { steps } = this.trace;
    const last = steps.findLastIndex(({ action }) => action.type === "sync" && action.node === node);
    return steps.slice(last + 1).flatMap(({ action }) => (touches(action, node) ? [action] : []));
  }
}

/** The action changes what a sync of the node makes durable. */
export function touches(action: Action, node: NodeId): boolean {
  if (action.type === "names") return action.edits.some(({ directory }) => directory === node);
  return action.type !== "sync" && action.node === node;
}
