import type { Argument, Command, Option } from "commander";
import { OWNER_KINDS } from "../values.js";

/** What is completed as a value. */
export type ValueSpec =
  | { readonly type: "choices"; readonly choices: readonly string[] }
  | { readonly type: "owner" | "file" | "directory" | "text" };

export interface OptionSpec {
  /** Such as `-n` and `--limit`. */
  readonly flags: readonly string[];
  readonly description: string;
  /** undefined for a switch. */
  readonly value?: ValueSpec;
}

export interface CommandSpec {
  /** Its words, without `reverie`; an alias is a command of its own. */
  readonly path: readonly string[];
  readonly summary: string;
  /** The program's own included. */
  readonly options: readonly OptionSpec[];
  readonly args: readonly ValueSpec[];
  readonly variadic: boolean;
  readonly commands: readonly CommandSpec[];
}

/** What an owner begins with. */
export const OWNER_PREFIXES: readonly string[] = OWNER_KINDS.map((kind) => (kind === "org" ? "org/self" : `${kind}/`));

/** The program and its commands, as completion scripts need them. */
export function describeCommands(program: Command): CommandSpec {
  return toSpec(program, [], []);
}

/** The command itself, and all below it. */
export function allCommands(spec: CommandSpec): CommandSpec[] {
  return [spec, ...spec.commands.flatMap(allCommands)];
}

function toSpec(command: Command, path: readonly string[], inherited: readonly OptionSpec[]): CommandSpec {
  const help = command.createHelp();
  const options = [...help.visibleOptions(command).map(toOption), ...inherited];
  const global = path.length === 0 ? options.filter(({ flags }) => !flags.includes("--version")) : inherited;
  const below = help
    .visibleCommands(command)
    .filter((sub) => path.length === 0 || sub.name() !== "help")
    .flatMap((sub) =>
      [sub.name(), ...sub.aliases()].map((name) =>
        toSpec(
          sub,
          [...path, name],
          global.filter(({ flags }) => !flags.includes("--help")),
        ),
      ),
    );
  const args = command.registeredArguments;
  const names = below.map(({ path }) => path.at(-1) as string);
  // `help` takes the names of the others.
  const isHelp = path.length === 1 && path[0] === "help";
  return {
    path,
    summary: help.subcommandDescription(command),
    options,
    args: isHelp ? [{ type: "choices", choices: [] }] : args.map(toArgument),
    variadic: args.at(-1)?.variadic ?? false,
    commands: isHelp ? [] : below.map((sub) => (sub.path[0] === "help" ? { ...sub, args: [choices(names)] } : sub)),
  };
}

function toOption(option: Option): OptionSpec {
  const flags = [option.short, option.long].filter((flag): flag is string => flag != null);
  const { description } = option;
  if (!option.required && !option.optional) return { flags, description };
  const value: ValueSpec = option.argChoices
    ? choices(option.argChoices)
    : { type: option.flags.includes("<file>") ? "file" : "text" };
  return { flags, description, value };
}

function toArgument(argument: Argument): ValueSpec {
  if (argument.argChoices) return choices(argument.argChoices);
  switch (argument.name()) {
    case "owner":
      return { type: "owner" };
    case "file":
      return { type: "file" };
    case "dir":
      return { type: "directory" };
    default:
      return { type: "text" };
  }
}

function choices(names: readonly string[]): ValueSpec {
  return { type: "choices", choices: names };
}
