import { createHash } from "node:crypto";
import { type BigIntStats, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** What a directory holds, byte for byte. */
export class DirectoryContents {
  /** Of files that nobody changed since; a file's ctime moves with every write, and can't be set back. */
  private readonly known = new Map<string, { readonly ctimeNs: bigint; readonly contents: string }>();

  constructor(private readonly directory: string) {}

  /** Every name below it, with what is there: permissions, and a file's size and SHA-256. */
  now(prefix = ""): Record<string, string> {
    const found: Record<string, string> = {};
    for (const name of readdirSync(join(this.directory, prefix)).sort()) {
      const path = join(prefix, name);
      const stat = lstatSync(join(this.directory, path), { bigint: true });
      found[path] = `${(stat.mode & 0o777n).toString(8)} ${this.contents(path, stat)}`;
      if (stat.isDirectory()) Object.assign(found, this.now(path));
    }
    return found;
  }

  private contents(path: string, stat: BigIntStats): string {
    const at = join(this.directory, path);
    if (stat.isDirectory()) return "directory";
    if (stat.isSymbolicLink()) return `-> ${readlinkSync(at)}`;
    if (!stat.isFile()) return stat.isFIFO() ? "FIFO" : "socket or device";
    const known = this.known.get(path);
    if (known?.ctimeNs === stat.ctimeNs) return known.contents;
    const contents = `${stat.size} ${createHash("sha256").update(readFileSync(at)).digest("hex")}`;
    this.known.set(path, { ctimeNs: stat.ctimeNs, contents });
    return contents;
  }
}
