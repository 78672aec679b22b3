import { dirname } from "node:path";
import type { Directories } from "../directories.js";
import type { Fs } from "../fs.js";
import { appendKept, nextNumbered } from "../kept-aside.js";
import type { LineObservation } from "./finding.js";

/** A file that would pass this gets a number behind its name, and a new one begins. None is ever replaced. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Of a longer range each piece is a record of its own. Divisible by 3, so that base64 has no padding within. */
const PIECE_BYTES = 768 * 1024;
/** Records are written when they have this size. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** Keeps what is taken out of a file in `<file>.quarantine`: JSON lines `{ at, line, when, problem, base64 }`. */
export class Quarantine {
  private readonly path: string;
  private batch: Buffer[] = [];
  private batchBytes = 0;

  constructor(
    private readonly fs: Fs,
    private readonly directories: Directories,
    file: string,
    private readonly now: () => number,
  ) {
    this.path = `${file}.quarantine`;
  }

  /** `read` gives the bytes at an offset. Durable after the next `flush`. */
  async add(
    { at, bytes, line, problem }: Pick<LineObservation, "at" | "bytes" | "line" | "problem">,
    read: (at: number, bytes: number) => Buffer,
  ): Promise<void> {
    for (let done = 0; done < bytes; done += PIECE_BYTES) {
      const piece = read(at + done, Math.min(PIECE_BYTES, bytes - done));
      const record = { at: at + done, line, when: this.now(), problem, base64: piece.toString("base64") };
      const encoded = Buffer.from(`${JSON.stringify(record)}\n`);
      this.batch.push(encoded);
      this.batchBytes += encoded.length;
      if (this.batchBytes >= BATCH_BYTES) await this.flush();
    }
  }

  async flush(): Promise<void> {
    if (this.batchBytes === 0) return;
    const records = Buffer.concat(this.batch);
    this.batch = [];
    this.batchBytes = 0;
    const size = this.fs.lstatSync(this.path)?.size ?? 0;
    if (size > 0 && size + records.length > MAX_FILE_BYTES)
      await this.fs.rename(this.path, await nextNumbered(this.fs, this.path));
    await appendKept(this.fs, this.path, records);
    await this.directories.sync(dirname(this.path));
  }
}
