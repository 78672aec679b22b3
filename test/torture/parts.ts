import type { Part } from "./part.js";

/** All of the scorecard, in the order in which it runs. Each is a file `<folder>/part.ts`. */
export const parts: readonly Part[] = [];
