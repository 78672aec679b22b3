import { readFileSync } from "node:fs";
import { type CommandLine, type ProgramInfo, parseCommandLine } from "./command-line.js";
import { ConfigError } from "./config-error.js";
import { parseConfigFile } from "./config-file.js";
import type { OptionTable } from "./option.js";
import { type ParsedConfig, parseOptions, VARIABLE_PREFIX } from "./parse-options.js";

export type LoadedConfig<T extends OptionTable> =
  | ({ readonly kind: "run" } & ParsedConfig<T>)
  | Extract<CommandLine, { kind: "print" }>;

/** The half that touches the world: arguments, environment and the config file of this process. */
export function loadConfig<T extends OptionTable>(
  info: ProgramInfo,
  table: T,
  args: readonly string[] = process.argv.slice(2),
  env: Readonly<Record<string, string | undefined>> = process.env,
): LoadedConfig<T> {
  const line = parseCommandLine(info, table, args);
  if (line.kind === "print") return line;
  const path = line.configPath ?? env[`${VARIABLE_PREFIX}CONFIG`];
  const file = path === undefined || path === "" ? undefined : parseConfigFile(path, readText(path, "config file"));
  return { kind: "run", ...parseOptions(table, { flags: line.flags, env, ...(file && { file }) }) };
}

/** A file that the operator named; the message says which and why. */
export function readText(path: string, what: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    const reasons: Record<string, string> = {
      ENOENT: "there is no such file",
      EACCES: "this user may not read it",
      EISDIR: "it is a directory",
    };
    throw new ConfigError([`${what} ${path} can't be read: ${reasons[code] ?? code}`]);
  }
}
