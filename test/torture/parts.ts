import { alteredTextsPart } from "./altered-texts/part.js";
import { crashStatesPart } from "./crash-states/part.js";
import { faultsPart } from "./faults/part.js";
import { fullDiskPart } from "./full-disk/part.js";
import { historyPart } from "./history/part.js";
import { killNinePart } from "./kills/part.js";
import type { Part } from "./part.js";
import { powerCutsPart } from "./power-cuts/part.js";
import { secondWriterPart } from "./second-writer/part.js";
import { syncErrorPart } from "./sync-error/part.js";

/** All of the scorecard, in the order in which it runs. Each is a file `<folder>/part.ts`. */
export const parts: readonly Part[] = [
  killNinePart,
  faultsPart,
  fullDiskPart,
  crashStatesPart,
  powerCutsPart,
  alteredTextsPart,
  secondWriterPart,
  historyPart,
  syncErrorPart,
];
