import type { Code } from "@connectrpc/connect";
import type { Api, OwnerInit } from "./contract.js";

/** What a case works with. */
export interface Scene {
  readonly api: Api;
  /** Nobody has used it. */
  readonly owner: OwnerInit;
}

/** One hostile input, and what the service answers. Of what is refused nothing may be written. */
export interface HostileCase {
  /** What is hostile: "owner id". */
  readonly field: string;
  /** The input, as Markdown for people. Unique within its field. */
  readonly input: string;
  /** The calls that get it, for people. */
  readonly calls: string;
  /** `OK`, or the status and the reason: `INVALID_ARGUMENT FIELD_INVALID`. */
  readonly answer: "OK" | `${Status} ${string}`;
  /** Only JSON can say it. Default: every transport carries it. */
  readonly jsonOnly?: boolean;
  /** What else is worth knowing, for people. */
  readonly note?: string;
  /** Prepares the scene. Each call of those returned gets the answer; of `OK` ones the promise checks the rest. */
  readonly act: (scene: Scene) => Promise<readonly HostileCall[]> | readonly HostileCall[];
}

export type HostileCall = () => Promise<unknown> | AsyncIterable<unknown>;

type Status =
  | "INVALID_ARGUMENT"
  | "ALREADY_EXISTS"
  | "NOT_FOUND"
  | "OUT_OF_RANGE"
  | "FAILED_PRECONDITION"
  | "RESOURCE_EXHAUSTED";

/** `InvalidArgument` as `INVALID_ARGUMENT`. */
export function statusName(code: keyof typeof Code): string {
  return code.replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase();
}

/** The cases as Markdown, a table for each field. */
export function hostileTables(cases: readonly HostileCase[]): string {
  const tables: string[] = [];
  for (const field of new Set(cases.map((one) => one.field))) {
    const rows = cases
      .filter((one) => one.field === field)
      .map(({ input, calls, answer, note = "" }) => {
        const shown = answer.replace(/(\S+) (\S+)/, "$1 `$2`");
        return `| ${input} | ${calls} | ${shown} | ${note} |`;
      });
    tables.push([`## ${field}`, "", "| input | calls | answer | |", "|---|---|---|---|", ...rows].join("\n"));
  }
  return tables.join("\n\n");
}
