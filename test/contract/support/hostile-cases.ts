import type { HostileCase } from "./hostile-case.js";
import { entryCases } from "./hostile-entries.js";
import { fileCases } from "./hostile-files.js";
import { metaCases } from "./hostile-metas.js";
import { ownerCases } from "./hostile-owners.js";
import { readCases } from "./hostile-reads.js";

/** What docs/hostile-input.md lists and hostile-input.test.ts sends. */
export const hostileCases: readonly HostileCase[] = [
  ...ownerCases,
  ...entryCases,
  ...metaCases,
  ...readCases,
  ...fileCases,
];
