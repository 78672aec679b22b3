import { ownerFileMode } from "./directories.js";
import { type Fs, O_CREAT, O_NOFOLLOW, O_RDWR, O_TRUNC, writeAll } from "./fs.js";
import { decodeLine, encodeCleared, encodeCopy, encodeForget, encodeHead, type Range, reencodeLegacy } from "./line.js";
import { eraseRanges, type Log } from "./log.js";
import { type ClearedHashes, LogState, TOMBSTONE_MS } from "./log-state.js";
import { TimeSlice } from "./time-slice.js";

/** Written at once. */
const CHUNK_BYTES = 256 * 1024;
/** Hashes a `cleared` line. */
const HASHES_PER_LINE = 1000;
/** How long copying may keep the event loop, milliseconds. */
const SLICE_MS = 8;

/** Tells apart rewrites of one log that end and begin at once. */
let rewrites = 0;

/** What a rewrite that a crash broke off leaves in an owner's directory. */
export const isRewriteLeftover = (name: string): boolean =>
  /^(?:episodic|semantic|working)\.jsonl(?:\.\d+)?\.tmp$/.test(name);

export interface RewriteOptions {
  readonly fs: Fs;
  readonly syncDirectory: (path: string) => Promise<void>;
  readonly now: number;
  /** The owner's seq: the new file's head holds it. */
  readonly seq: () => number;
  /** Raises the floor: watchers from before it must list again. */
  readonly floor?: number;
  /** Entries dropped besides those that earlier heads count. */
  readonly dropped?: number;
  /** Which live entries stay. Default all. */
  readonly keep?: (i: number) => boolean;
  /** Also leave unreadable and stale lines behind. Only Clear does. */
  readonly leaveBad?: boolean;
  /** Hashes of what this rewrite removes. */
  readonly cleared?: Omit<ClearedHashes, "bytes">;
  /** Called in the very moment in which reads begin to see the new log. */
  readonly switched?: () => void;
}

/**
 * Writes a log anew beside itself: the tombstones of the last 24 h, unreadable lines as they are, the entries that
 * stay in file order, and a head line. `copy` may run while the log takes writes; `finish` must not: it applies
 * what came later, then renames.
 */
export class Rewrite {
  /** Set to make `copy` fail soon. */
  cancelled = false;
  /** Settles when `copy` does. */
  copied: Promise<void> = Promise.resolve();
  /** The new file has the log's name: there is no way back. */
  renamed = false;
  private abandoned: Promise<void> | undefined;
  private readonly source: LogState;
  private readonly target = new LogState();
  private readonly path: string;
  private fd = -1;
  private buffered: Buffer[] = [];
  private bufferedBytes = 0;
  private written = 0;
  /** Entries of the source looked at. */
  private position = 0;
  /** Number in the source of each entry of the target. */
  private readonly origin: number[] = [];
  private tombstonesSeen = 0;
  private clearedSeen = 0;
  private badSeen = 0;

  constructor(
    private readonly log: Log,
    private readonly options: RewriteOptions,
  ) {
    this.source = log.state;
    this.path = `${log.path}.${++rewrites}.tmp`;
  }

  /** Copies up to what is there now, giving way to others. */
  copy(): Promise<void> {
    this.copied = this.copyAll();
    return this.copied;
  }

  private async copyAll(): Promise<void> {
    this.fd = await this.options.fs.open(this.path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, ownerFileMode);
    const { source } = this;
    this.target.dropped = source.dropped + (this.options.dropped ?? 0);
    this.target.floor = Math.max(source.floor, this.options.floor ?? 0);
    this.copyControl();
    if (this.options.cleared !== undefined) this.appendCleared(this.options.cleared);
    await this.copyEntries(source.index.count);
  }

  /** Applies what came since, syncs, and puts the new file in the log's place. Nobody may write meanwhile. */
  async finish(): Promise<void> {
    const { source, target, options, log } = this;
    const { fs } = options;
    this.copyControl();
    await this.copyEntries(source.index.count);
    this.append(encodeHead(options.seq(), target.floor, target.dropped));
    await this.flush();
    const erase: Range[] = [];
    for (let i = 0; i < this.origin.length; i++) {
      if (!source.index.isDead(this.origin[i]) || target.index.isDead(i)) continue;
      erase.push({ at: target.index.offset(i), len: target.index.length(i) });
      target.index.kill(i);
    }
    await eraseRanges(fs, this.fd, erase);
    await fs.fsync(this.fd);
    const inode = fs.fstatSync(this.fd).ino;
    await fs.rename(this.path, log.path);
    this.renamed = true;
    const { fd } = this;
    this.fd = -1;
    const replaced = log.replaceWith(fd, inode, target);
    options.switched?.();
    await replaced;
    await options.syncDirectory(log.directory);
  }

  /** Leaves the log as it was. */
  abandon(): Promise<void> {
    this.abandoned ??= this.remove();
    return this.abandoned;
  }

  private async remove(): Promise<void> {
    const { fs } = this.options;
    if (this.fd < 0) return;
    const { fd } = this;
    this.fd = -1;
    await fs.close(fd);
    await fs.unlink(this.path);
  }

  private copyControl(): void {
    const { source, target, options } = this;
    for (; this.tombstonesSeen < source.tombstones.length; this.tombstonesSeen++) {
      const tombstone = source.tombstones[this.tombstonesSeen];
      if (tombstone.ts > options.now - TOMBSTONE_MS) {
        this.append(encodeForget(tombstone.id, tombstone.hash, undefined, tombstone.seq, tombstone.ts));
      } else target.floor = Math.max(target.floor, tombstone.seq);
    }
    for (; this.clearedSeen < source.cleared.length; this.clearedSeen++) {
      const cleared = source.cleared[this.clearedSeen];
      if (cleared.ts > options.now - TOMBSTONE_MS) this.appendCleared(cleared);
    }
    for (; this.badSeen < source.badLines.length; this.badSeen++) {
      if (options.leaveBad === true) continue;
      const { at, len } = source.badLines[this.badSeen];
      this.append(Buffer.concat([this.log.readRange(at, len), NEWLINE]));
    }
  }

  private appendCleared({ hashes, seq, ts }: Omit<ClearedHashes, "bytes">): void {
    for (let i = 0; i < hashes.length; i += HASHES_PER_LINE) {
      this.append(encodeCleared(hashes.slice(i, i + HASHES_PER_LINE), seq, ts));
    }
  }

  private async copyEntries(end: number): Promise<void> {
    const slice = new TimeSlice(SLICE_MS);
    for (; this.position < end; this.position++) {
      const i = this.position;
      const bytes = this.lineToCopy(i);
      if (bytes !== undefined) {
        const before = this.target.index.count;
        this.append(bytes);
        if (this.target.index.count > before) this.origin.push(i);
      }
      if (this.bufferedBytes >= CHUNK_BYTES) await this.flush();
      if (slice.isOver) {
        await slice.giveWay();
        if (this.cancelled) throw new Error("the log's rewriting was cancelled");
      }
    }
    await this.flush();
  }

  private lineToCopy(i: number): Buffer | undefined {
    const { index } = this.source;
    if (index.isStale(i)) return this.options.leaveBad === true ? undefined : withNewline(this.log.read(i));
    if (!index.isLive(i) || this.options.keep?.(i) === false) return undefined;
    if (!index.isLegacy(i) && !index.isPatched(i)) return withNewline(this.log.read(i));
    const found = this.log.entry(i);
    if (found === undefined) return withNewline(this.log.read(i));
    const { line, bytes } = found;
    if (line.legacy) return reencodeLegacy(bytes, index.ord(i));
    return encodeCopy(bytes, line, { kind: this.log.kind, ord: index.ord(i), late: index.isLate(i) });
  }

  private append(line: Buffer): void {
    this.target.apply(decodeLine(line.subarray(0, -1)), line.subarray(0, -1), this.target.size);
    this.buffered.push(line);
    this.bufferedBytes += line.length;
  }

  private async flush(): Promise<void> {
    const bytes = Buffer.concat(this.buffered);
    this.buffered = [];
    this.bufferedBytes = 0;
    await writeAll(this.options.fs, this.fd, bytes, this.written);
    this.written += bytes.length;
  }
}

const NEWLINE = Buffer.from("\n");

function withNewline(line: Buffer): Buffer {
  return Buffer.concat([line, NEWLINE]);
}
