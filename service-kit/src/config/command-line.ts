import { Command, CommanderError, Option } from "commander";
import { ConfigError } from "./config-error.js";
import { allowedValues, flagName, type OptionSpec, type OptionTable, valueType, variableName } from "./option.js";
import { VARIABLE_PREFIX } from "./parse-options.js";

export interface ProgramInfo {
  /** The command's name, such as `reverie-memory`. */
  readonly name: string;
  /** Semantic version. */
  readonly version: string;
  /** One sentence. */
  readonly description: string;
  /** Shown after the options, such as examples. */
  readonly helpFooter?: string;
}

export type CommandLine =
  | { readonly kind: "run"; readonly flags: Record<string, string | boolean>; readonly configPath: string | undefined }
  /** Text to print before leaving with exit code 0. */
  | { readonly kind: "print"; readonly text: string };

/** Pure: prints nothing and never exits. Throws a `ConfigError` for a bad flag. */
export function parseCommandLine(info: ProgramInfo, table: OptionTable, args: readonly string[]): CommandLine {
  let printed = "";
  const command = buildCommand(info, table);
  command.exitOverride();
  command.configureOutput({
    writeOut: (text) => {
      printed += text;
    },
    writeErr: () => {},
  });
  try {
    command.parse([...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: "print", text: printed };
    throw new ConfigError([`${error.message.replace(/^error: /, "")}\nRun ${info.name} --help to see every option.`]);
  }
  const { config, ...flags } = command.opts<Record<string, string | boolean>>();
  return { kind: "run", flags, configPath: config === undefined ? undefined : String(config) };
}

export function helpText(info: ProgramInfo, table: OptionTable): string {
  let text = "";
  const command = buildCommand(info, table);
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
}

function buildCommand(info: ProgramInfo, table: OptionTable): Command {
  const command = new Command(info.name)
    .description(`${info.description}\n\nFlags win over environment variables, those over the YAML file.`)
    .version(info.version, "--version", "print the version and leave")
    .helpOption("-h, --help", "print this and leave")
    .allowExcessArguments(false)
    .configureHelp({ helpWidth: 110 })
    .addOption(
      new Option("--config <file>", `YAML file with any of the options below, by key. [${VARIABLE_PREFIX}CONFIG]`),
    );
  for (const [key, spec] of Object.entries(table)) command.addOption(commandOption(key, spec));
  if (info.helpFooter !== undefined) command.addHelpText("after", `\n${info.helpFooter}`);
  return command;
}

function commandOption(key: string, spec: OptionSpec): Option {
  const placeholder =
    valueType(spec.schema) === "boolean"
      ? " [true|false]"
      : ` <${spec.valueName ?? spec.unit ?? valueType(spec.schema)}>`;
  const values = allowedValues(spec.schema);
  const parts = [
    spec.help,
    values === undefined ? "" : `One of ${values.join(", ")}.`,
    spec.default === undefined || spec.default === "" ? "" : `Default: ${showDefault(spec.default)}.`,
    `[${key}, ${variableName(key, VARIABLE_PREFIX)}]`,
  ];
  return new Option(`${flagName(key)}${placeholder}`, parts.filter((part) => part !== "").join(" "));
}

function showDefault(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.join(",");
  return String(value);
}
