import { rmSync } from "node:fs";
import { seededRandom } from "../../lib/random.js";
import { type VolatileFs, type VolatileFsOptions, volatileFs } from "./volatile-fs.js";

export interface VolatileDiskOptions extends Omit<VolatileFsOptions, "random"> {
  /** Each boot makes its choices from it. Default: none is left to chance. */
  readonly seed?: number;
}

/** One disk through several power cuts, in one process. */
export class VolatileDisk {
  private running: VolatileFs | undefined;
  private boots = 0;

  constructor(private readonly options: VolatileDiskOptions) {}

  /** Cuts the power of the boot before, if there was one: the page cache is empty, and the disk as that left it. */
  boot(): VolatileFs {
    this.running?.powerOff();
    const { seed, limbo, ...options } = this.options;
    const random = seed === undefined ? {} : { random: seededRandom(seed) };
    this.running = volatileFs({ ...options, ...random, limbo: `${limbo}/${this.boots++}` });
    return this.running;
  }

  /** Cuts the power for good, and removes what has no durable name. */
  end(): void {
    this.running?.powerOff();
    this.running = undefined;
    rmSync(this.options.limbo, { recursive: true, force: true });
  }
}
