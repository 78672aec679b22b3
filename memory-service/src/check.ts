export {
  type CheckOptions,
  type CheckProgress,
  type CheckSummary,
  checkDataDirectory,
} from "./store/jsonl/check/check-data-directory.js";
export type { Finding } from "./store/jsonl/check/finding.js";
export type { Action, Problem } from "./store/jsonl/check/problems.js";
export { DataDirectoryError } from "./store/jsonl/root.js";
