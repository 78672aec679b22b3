import { Argument, type Command } from "commander";
import { bashCompletion } from "../completion/bash.js";
import { fishCompletion } from "../completion/fish.js";
import { describeCommands } from "../completion/spec.js";
import { zshCompletion } from "../completion/zsh.js";
import { teach } from "../help.js";
import type { Runtime } from "../runtime.js";
import { oneOf } from "../values.js";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };
const NAMES = Object.keys(SHELLS) as (keyof typeof SHELLS)[];

export function addCompletion(program: Command, runtime: Runtime): void {
  const command = program
    .command("completion")
    .addArgument(new Argument("<shell>", "whose script to print").choices(NAMES))
    .action((shell: string, _options: object, command: Command) =>
      runtime.offline(command, ({ output }) => output.write(SHELLS[oneOf(shell, NAMES)](describeCommands(program)))),
    );
  teach(command, {
    summary: "Print a script that completes commands, options and choices",
    examples: [
      ["completion bash > ~/.local/share/bash-completion/completions/reverie", "bash"],
      ["completion zsh > ~/.zfunc/_reverie", "zsh, with ~/.zfunc in fpath"],
      ["completion fish > ~/.config/fish/completions/reverie.fish", "fish"],
    ],
  });
}
