import { type Command, CommanderError } from "commander";
import { type CliError, OutputClosed, usageError } from "./cli-error.js";
import { ExitCode } from "./exit-code.js";
import { type Failure, toFailure } from "./failure.js";
import type { Interrupt } from "./interrupt.js";
import { Output } from "./output/output.js";
import { oneLine } from "./output/printable.js";
import { createProgram } from "./program.js";
import { Runtime } from "./runtime.js";

/** Runs one command line, without `node` and the script, and returns its exit code. Never throws. */
export async function runCli(args: readonly string[], interrupt: Interrupt): Promise<ExitCode> {
  const program = createProgram(new Runtime(interrupt));
  try {
    await program.parseAsync([...args], { from: "user" });
    return interrupt.exitCode ?? ExitCode.OK;
  } catch (error) {
    if (error instanceof OutputClosed) return ExitCode.OK;
    if (interrupt.exitCode !== undefined) return interrupt.exitCode;
    if (error instanceof CommanderError && error.exitCode === 0) return ExitCode.OK;
    // Without a command: the help went to stderr.
    if (error instanceof CommanderError && error.code === "commander.help") return ExitCode.USAGE;
    const failure = toFailure(error instanceof CommanderError ? fromCommander(error, commandIn(args, program)) : error);
    report(failure, args);
    if (process.env.REVERIE_DEBUG === "1") process.stderr.write(`${oneStack(error)}\n`);
    return failure.exitCode;
  }
}

/** The command that was called, if it is one. */
function commandIn(args: readonly string[], program: Command): string | undefined {
  return args.find((arg) => program.commands.some((command) => command.name() === arg));
}

function fromCommander(error: CommanderError, command: string | undefined): CliError {
  const [message = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const meant = /^\(Did you mean (.+)\?\)$/.exec(suggestion ?? "")?.[1];
  if (meant !== undefined) return usageError(message, `Did you mean ${meant}?`);
  if (error.code === "commander.unknownOption") {
    if (/'--token(?:=.*)?'/.test(message)) {
      return usageError(message, "Put the token into REVERIE_TOKEN, or into a file that --token-file names.");
    }
    return usageError(message, "Put -- before a text or id that begins with a dash.");
  }
  return usageError(message, `See \`reverie ${command === undefined ? "--help" : `help ${command}`}\`.`);
}

/** One line that says what happened, one that says what to do. */
function report(failure: Failure, args: readonly string[]): void {
  const output = new Output({
    json: args.includes("--json"),
    table: false,
    iso: false,
    colour: !args.includes("--no-color"),
  });
  const { message, hint, ...rest } = failure;
  const shown = oneLine(message).replace(/[.\s]+$/, "");
  if (output.jsonNotes) {
    output.note("", { error: { message: shown, ...(hint !== undefined && { hint }), ...rest } });
    return;
  }
  const { red, dim } = output.noteStyle;
  process.stderr.write(`${red("error:")} ${shown}\n`);
  if (hint !== undefined) process.stderr.write(`${dim("hint:")} ${oneLine(hint)}\n`);
}

function oneStack(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
