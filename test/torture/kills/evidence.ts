import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/**
 * What a crash left, and what must be in it: `<dir>/left/` and `<dir>/expected.json`, there while a run goes on.
 * Kept beyond it once something was found wrong, the first time only.
 */
export class Evidence {
  /** Where it was kept. */
  kept: string | undefined;
  private readonly left: string;
  private readonly expected: string;

  /** Without `keep` nothing is kept: a control is meant to go wrong. */
  constructor(
    dir: string,
    private readonly keep: string | undefined,
  ) {
    this.left = join(dir, "left");
    this.expected = join(dir, "expected.json");
  }

  /** Before the service starts again, and mends what it finds. */
  record(dataDir: string, expectation: object): void {
    writeFileSync(this.expected, JSON.stringify(expectation));
    rmSync(this.left, { recursive: true, force: true });
    const filter = (path: string): boolean => basename(path) !== ".reserve";
    if (existsSync(dataDir)) cpSync(dataDir, this.left, { recursive: true, filter });
  }

  /** Keeps what was recorded last, and says what is wrong with it. */
  keepFor(findings: readonly string[]): void {
    if (this.keep === undefined || this.kept !== undefined || !existsSync(this.left)) return;
    let place = this.keep;
    for (let n = 2; existsSync(place); n++) place = `${this.keep}-${n}`;
    mkdirSync(place, { recursive: true });
    cpSync(this.left, join(place, "left"), { recursive: true });
    cpSync(this.expected, join(place, "expected.json"));
    writeFileSync(join(place, "findings.txt"), findings.map((line) => `${line}\n`).join(""));
    this.kept = place;
  }
}
