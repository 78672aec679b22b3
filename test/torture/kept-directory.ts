import { dirname, join } from "node:path";
import type { Context } from "./part.js";

/** A directory beside the part's own, which outlives the run. */
export function keptDirectory({ dir, seed }: Context, part: string, name: string): string {
  return join(dirname(dir), `reverie-torture-kept-${part}-${seed}`, name);
}
