import type { Command } from "commander";
import { usageError } from "./cli-error.js";
import { readStdin } from "./read-text.js";
import { collect } from "./values.js";

export interface MetaOptions {
  readonly meta?: string;
  readonly set?: readonly string[];
}

export function addMetaOptions(command: Command, what: string): Command {
  return command
    .option("--meta <json>", `${what}: one JSON object, or - for stdin; numbers keep every digit`)
    .option(
      "--set <key=value>",
      "one more key of it, repeatable; the value is JSON where it can be, else text",
      collect,
    );
}

/** The JSON text of `--meta` and `--set`, as it was written; "" without them. */
export async function readMeta({ meta, set = [] }: MetaOptions, signal: AbortSignal): Promise<string> {
  const json = (meta === "-" ? await readStdin("--meta", signal) : (meta ?? "")).trim();
  if (json !== "" && !isObject(json)) {
    throw usageError(
      "--meta must be one JSON object.",
      `For example: --meta '{"source":"chat"}', or --set source=chat`,
    );
  }
  if (set.length === 0) return json;
  const members = set.map((pair) => {
    const equals = pair.indexOf("=");
    if (equals < 1)
      throw usageError(`--set ${JSON.stringify(pair)} has no key and value.`, "Give it as --set key=value.");
    const value = pair.slice(equals + 1);
    return `${JSON.stringify(pair.slice(0, equals))}:${isJson(value) ? value : JSON.stringify(value)}`;
  });
  const before = json.slice(1, -1).trim();
  return `{${[...(before === "" ? [] : [before]), ...members].join(",")}}`;
}

function isObject(json: string): boolean {
  return json.startsWith("{") && isJson(json);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
