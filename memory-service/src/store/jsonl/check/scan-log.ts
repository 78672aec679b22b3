import type { Kind } from "../../store.js";
import { errorCode, type Fs, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } from "../fs.js";
import { decodeLine, isComplete, type Line, readStale, type StaleEntry } from "../line.js";
import { logLines } from "../log-lines.js";
import { LogState } from "../log-state.js";
import { TimeSlice } from "../time-slice.js";
import type { LineObservation, Observation } from "./finding.js";

/** How long reading may keep the event loop, milliseconds. */
const SLICE_MS = 50;

type Place = Pick<LineObservation, "line" | "at" | "bytes">;

export interface ScanOptions {
  readonly fs: Fs;
  readonly signal: AbortSignal | undefined;
  /** Syncs what was read: what a process that was killed wrote may be in the page cache only, and is built on. */
  readonly sync: boolean;
  /** Told now and then of bytes that were read since. */
  readonly read: (bytes: number) => void;
}

/** One log as a check sees it: what the service would know of it, and what is odd about its lines. */
export class LogScan {
  readonly state = new LogState();
  readonly observations: Observation[] = [];
  /** Where a second live line of an id was met, by id. */
  readonly repeatedIds = new Map<string, Place>();
  /** The stale lines that could be adopted as far as they say themselves, in file order. */
  readonly stale: { readonly observation: LineObservation; readonly seq: number; readonly ord: number | undefined }[] =
    [];
  /** Lines, blank ones not counted. */
  lines = 0;
  /** Of the file, in bytes. */
  size = 0;
  exists = false;
  private line = 0;
  private entrySeq = 0;

  constructor(
    readonly kind: Kind,
    /** The owner's directory. */
    private readonly directory: string,
    /** The log's, relative to the data directory. */
    readonly path: string,
    /** Those of the owner's logs that were read before. */
    private readonly others: readonly LogScan[],
  ) {}

  get file(): string {
    return `${this.directory}/${this.kind}.jsonl`;
  }

  async run({ fs, signal, sync, read }: ScanOptions): Promise<void> {
    try {
      const found = fs.lstatSync(this.file);
      if (found === undefined) return;
      if (!found.isFile()) {
        this.see("log-unsafe");
        return;
      }
      const fd = await fs.open(this.file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
      try {
        this.exists = true;
        this.size = fs.fstatSync(fd).size;
        const slice = new TimeSlice(SLICE_MS);
        let told = 0;
        for (const { line, at, length, bytes, ended } of logLines(fs, fd, this.size)) {
          this.line = line;
          if (bytes === undefined) this.tooLong(at, length);
          else this.take(bytes, at, ended);
          if (!slice.isOver) continue;
          read(at - told);
          told = at;
          await slice.giveWay();
          signal?.throwIfAborted();
        }
        read(this.size - told);
        if (sync) await fs.fdatasync(fd);
      } finally {
        await fs.close(fd);
      }
    } catch (error) {
      if (signal?.aborted) throw error;
      this.see("unreadable", { detail: errorCode(error) || String(error) });
    }
    this.dropWhatIsGone();
  }

  /** It could not be read to its end. */
  get isBroken(): boolean {
    return this.observations.some(({ problem }) => problem === "unreadable" || problem === "log-unsafe");
  }

  see(problem: Observation["problem"], more: Omit<Observation, "path" | "problem"> = {}): void {
    this.observations.push({ path: this.path, problem, ...more });
  }

  private tooLong(at: number, bytes: number): void {
    this.lines++;
    this.state.addLongLine({ at, len: bytes });
    this.see("line-too-long", { line: this.line, at, bytes });
  }

  private take(line: Buffer, at: number, ended: boolean): void {
    const decoded = decodeLine(line);
    const place = { line: this.line, at, bytes: line.length };
    if (decoded.type !== "blank") this.lines++;
    if (!ended) {
      if (!isComplete(decoded)) {
        this.see("torn-tail", place);
        return;
      }
      this.see("no-newline", place);
    }
    if (decoded.type === "head" && decoded.seq < this.state.maxSeq) this.see("seq-above-head", place);
    const replaced = this.state.take(decoded, line, at);
    if (replaced?.holds === "entry") {
      this.see("unfinished-erase", { line: this.line, at: replaced.range.at, bytes: replaced.range.len });
    } else if (replaced?.holds === "others") this.see("foreign-range", place);
    if (decoded.type === "bad") this.see("bad-line", place);
    else if (decoded.type === "stale") this.takeStale(decoded.id, readStale(line), place);
    else if (decoded.type === "entry") this.takeEntry(decoded, place);
  }

  private takeStale(id: string, entry: StaleEntry | undefined, place: Place): void {
    const observation: LineObservation = { path: this.path, problem: "stale-line", ...place, id };
    this.observations.push(observation);
    if (entry === undefined) return;
    if (entry.oddMeta)
      observation.obstacle = "its meta is no JSON object and would be lost: Forget it and Remember it anew";
    else this.stale.push({ observation, seq: entry.seq, ord: entry.ord });
  }

  private takeEntry(entry: Line & { type: "entry" }, place: Place): void {
    const { id, kind, seq } = entry;
    if (kind !== undefined && kind !== this.kind)
      this.see("other-kind", { ...place, id, detail: JSON.stringify(kind.slice(0, 40)) });
    if (seq > 0) {
      if (seq <= this.entrySeq) this.see("seq-falls", { ...place, id });
      this.entrySeq = Math.max(this.entrySeq, seq);
    }
    if ([this, ...this.others].some(({ repeatedIds }) => repeatedIds.has(id))) return;
    const { index } = this.state;
    const isAgain = (scan: LogScan): boolean =>
      scan.state.index.find(id).some((i) => scan.state.index.isLive(i) && (scan !== this || i !== index.count - 1));
    if ([this, ...this.others].some(isAgain)) this.repeatedIds.set(id, place);
  }

  /** Bad and stale lines in a range that a later line replaced are part of that unfinished erase. */
  private dropWhatIsGone(): void {
    const { badLines, index } = this.state;
    const bad = new Set(badLines.map(({ at }) => at));
    const stays = ({ problem, at = 0 }: Observation): boolean => {
      if (problem === "bad-line" || problem === "line-too-long") return bad.has(at);
      return problem !== "stale-line" || index.isStale(index.atOffset(at));
    };
    const kept = this.observations.filter(stays);
    this.observations.length = 0;
    for (const one of kept) this.observations.push(one);
    const stale = this.stale.filter(({ observation }) => stays(observation));
    this.stale.length = 0;
    for (const one of stale) this.stale.push(one);
  }
}
