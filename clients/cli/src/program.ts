import { type Argument, Command } from "commander";
import { addCheck } from "./commands/check.js";
import { addClear } from "./commands/clear.js";
import { addCompletion } from "./commands/completion.js";
import { addDescribe } from "./commands/describe.js";
import { addExport } from "./commands/export.js";
import { addForget } from "./commands/forget.js";
import { addGet } from "./commands/get.js";
import { addImport } from "./commands/import.js";
import { addList } from "./commands/list.js";
import { addOwners } from "./commands/owners.js";
import { addPatch } from "./commands/patch.js";
import { addRecall } from "./commands/recall.js";
import { addRemember } from "./commands/remember.js";
import { addTrash } from "./commands/trash.js";
import { addWatch } from "./commands/watch.js";
import { addGlobalOptions } from "./globals.js";
import { teach } from "./help.js";
import type { Runtime } from "./runtime.js";
import { version } from "./version.js";

const EXIT_CODES = `
Exit status:
  0 done   1 failed   2 wrong usage   3 no such memory or ref   4 the service can't be reached
  5 not allowed   6 conflict   7 partly refused   130 Ctrl-C

On a terminal results are tables, elsewhere JSON lines. Results go to stdout, everything else to stderr.
\`reverie help COMMAND\` has a command's options and examples.`;

/** The whole command line. Throws CommanderErrors and whatever actions throw, and prints no errors itself. */
export function createProgram(runtime: Runtime): Command {
  const program = new Command("reverie");
  program
    .version(version, "-V, --version")
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .configureHelp({
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(termOf)].join(" "),
    });
  addGlobalOptions(program);
  const add = [
    ...[addRemember, addRecall, addList, addGet, addPatch, addForget, addClear, addWatch],
    ...[addOwners, addDescribe, addTrash, addExport, addImport, addCheck, addCompletion],
  ];
  for (const command of add) command(program, runtime);
  teach(program, {
    summary: "An agent's memories, from a terminal",
    examples: [
      [`remember agent/ada "Ada prefers tea"`, "store"],
      ["recall agent/ada tea", "find"],
      ["list agent/ada", "everything"],
      ["export agent/ada -o ada.jsonl", "a backup"],
    ],
  });
  return program.addHelpText("after", EXIT_CODES);
}

function termOf(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}
