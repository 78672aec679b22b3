import { type Fs, realFs } from "../../../memory-service/src/store/jsonl/fs.js";

export type Call = keyof Fs;

/**
 * What comes after a failure: the operation is tried again until it works; or the store is closed at once; or it is
 * tried again until it works, and the moment it is acknowledged there is a power cut.
 */
export type Ending = "retry" | "close" | "cut";

/** One way in which a call to the file system fails. */
export interface Fault {
  readonly name: string;
  /** Only these are counted, and fail. Default all. */
  readonly calls?: readonly Call[];
  /** The error's code. */
  readonly code: string;
  /** The write stores only half of its bytes and says so; `code` is what the next write then gets, "" for nothing. */
  readonly short?: boolean;
  /** Every later call of the same name fails too, until `heal`. */
  readonly sticky?: boolean;
  /** What comes after it. Default one after the other. */
  readonly ending?: Ending;
  /** The negative control: a write, rename or removal that does nothing, and claims to have worked. */
  readonly swallowed?: boolean;
}

const SYNCHRONOUS: ReadonlySet<Call> = new Set<Call>(["readSync", "fstatSync", "lstatSync"]);

/** A file system of which the nth call from `arm` on fails. */
export class FaultyFs {
  readonly fs: Fs;
  /** Calls since `arm` that the fault may hit. */
  counted = 0;
  /** Calls since `arm`, by name. */
  readonly tally = new Map<Call, number>();
  /** What failed, for people; "" when nothing has. */
  struck = "";
  /** The name of the call that failed. */
  struckCall: Call | undefined;
  /** Opened and not closed. */
  readonly descriptors = new Set<number>();
  private fault: Fault | undefined;
  private n = 0;
  private next: Fault | undefined;
  private underway = 0;
  private lockFd: number | undefined;
  /** No call returns any more. */
  dead = false;

  /** Default the real one. */
  constructor(private readonly base: Fs = realFs) {
    const entries = (Object.keys(realFs) as Call[]).map((name) => [name, this.wrapped(name)]);
    this.fs = Object.fromEntries(entries) as Fs;
  }

  /** From here on calls are counted, from 1, and the nth fails. 0: none does. */
  arm(fault: Fault, n: number): void {
    this.fault = fault;
    this.n = n;
    this.counted = 0;
    this.tally.clear();
    this.struck = "";
    this.struckCall = undefined;
    this.next = undefined;
  }

  heal(): void {
    this.fault = undefined;
    this.next = undefined;
  }

  /** The process that uses it is taken for dead: no call returns from here on, and the kernel lets its lock go. */
  async die(): Promise<void> {
    this.dead = true;
    if (this.lockFd !== undefined) await this.base.close(this.lockFd);
  }

  /** Resolves when no call is under way, also a moment later. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 5; quiet = this.underway === 0 ? quiet + 1 : 0) await new Promise(setImmediate);
  }

  private wrapped(name: Call): (...args: unknown[]) => unknown {
    const call = this.base[name] as (...args: unknown[]) => unknown;
    if (SYNCHRONOUS.has(name)) {
      return (...args) => {
        if (this.hits(name, args) !== undefined) throw failure(this.fault?.code ?? "EIO", name);
        return call(...args);
      };
    }
    return async (...args) => {
      if (this.dead) return new Promise<never>(() => {});
      this.underway++;
      try {
        return await this.perform(name, call, args);
      } finally {
        this.underway--;
      }
    };
  }

  private async perform(name: Call, call: (...args: unknown[]) => unknown, args: unknown[]): Promise<unknown> {
    const fault = this.hits(name, args);
    if (name === "close") {
      // A close that fails has closed all the same.
      this.descriptors.delete(args[0] as number);
      await call(...args);
    }
    if (fault?.swallowed) return name === "write" ? (args[1] as Uint8Array).length : undefined;
    if (fault?.short && name === "write") {
      const bytes = args[1] as Uint8Array;
      if (fault.code !== "") this.next = { name: fault.name, code: fault.code, calls: ["write"] };
      return call(args[0], bytes.subarray(0, bytes.length >> 1), args[2]);
    }
    if (fault !== undefined) throw failure(fault.code, name);
    if (name === "close") return undefined;
    const result = await call(...args);
    if (name === "open") {
      this.descriptors.add(result as number);
      if (String(args[0]).endsWith("/.lock")) this.lockFd = result as number;
    }
    return result;
  }

  private hits(name: Call, args: unknown[]): Fault | undefined {
    this.tally.set(name, (this.tally.get(name) ?? 0) + 1);
    if (this.next?.calls?.includes(name)) {
      const { next } = this;
      this.next = undefined;
      return next;
    }
    const { fault } = this;
    if (fault === undefined || (fault.calls !== undefined && !fault.calls.includes(name))) return undefined;
    // Half of a byte is none: that would be a full disk.
    if (fault.short && (args[1] as Uint8Array).length < 2) return undefined;
    this.counted++;
    if (fault.sticky && this.struckCall === name) return fault;
    if (this.counted !== this.n) return undefined;
    this.struckCall = name;
    this.struck = `${name} ${args.filter((arg) => typeof arg === "string").map((path) => String(path).slice(-30))}`;
    return fault;
  }
}

function failure(code: string, call: Call): Error {
  return Object.assign(new Error(`${code}: injected into ${call}`), { code });
}
