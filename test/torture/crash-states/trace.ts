import type { ExpectedOwner } from "../expected-owner.js";

/** A file or directory, whatever its name: as an inode. The root is 0. */
export type NodeId = number;

export const ROOT: NodeId = 0;

/** One name of a directory comes to stand for a node, or for none. */
export interface Edit {
  readonly directory: NodeId;
  readonly name: string;
  readonly node: NodeId | undefined;
}

export type Action =
  | { readonly type: "write"; readonly node: NodeId; readonly at: number; readonly bytes: Buffer }
  | { readonly type: "truncate"; readonly node: NodeId; readonly length: number }
  /** A new, moved or removed name: all of its edits or none. */
  | { readonly type: "names"; readonly edits: readonly Edit[] }
  | { readonly type: "sync"; readonly node: NodeId };

/** What a process did to files. Ticks count from 1, over actions and promises. */
export interface Step {
  readonly action: Action;
  readonly begin: number;
  /** Infinity while it is under way. */
  end: number;
}

/** What is known of each owner, by its id. */
export type Expectations = ReadonlyMap<string, ExpectedOwner>;

/** What was done to files below one directory, and in between what was asked for and acknowledged. */
export class Trace {
  readonly steps: Step[] = [];
  readonly promises: { readonly tick: number; readonly apply: (expected: Expectations) => void }[] = [];
  readonly directories = new Set<NodeId>([ROOT]);
  tick = 0;
  private nodes = 0;

  newNode(kind: "file" | "directory"): NodeId {
    const node = ++this.nodes;
    if (kind === "directory") this.directories.add(node);
    return node;
  }

  begin(action: Action): Step {
    const step: Step = { action, begin: ++this.tick, end: Number.POSITIVE_INFINITY };
    this.steps.push(step);
    return step;
  }

  end(step: Step): void {
    step.end = ++this.tick;
  }

  /** It failed, so it was nothing. */
  forget(step: Step): void {
    this.steps.splice(this.steps.indexOf(step), 1);
  }

  promise(apply: (expected: Expectations) => void): void {
    this.promises.push({ tick: ++this.tick, apply });
  }
}
