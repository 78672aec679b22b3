import type { Command } from "commander";

export interface Help {
  /** Half a line. */
  readonly summary: string;
  /** What else one should know. */
  readonly details?: string;
  /** Command lines, without `reverie`, and what they do. */
  readonly examples: readonly (readonly [line: string, what: string])[];
}

export const OWNER = "KIND/ID, such as agent/ada; kinds: agent, workflow-run, shared, user, org, peer";

/** Gives a command its texts. */
export function teach(command: Command, { summary, details, examples }: Help): Command {
  const width = Math.max(...examples.map(([line]) => line.length));
  const lines = examples.map(([line, what]) =>
    width > 60 ? `  # ${what}\n  reverie ${line}` : `  reverie ${line.padEnd(width)}  # ${what}`,
  );
  const more =
    command.parent === null ? "" : "\n\nOptions of every command, such as --address and --json: reverie --help";
  return command
    .summary(summary)
    .description(details === undefined ? `${summary}.` : `${summary}. ${details}`)
    .addHelpText("after", `\nExamples:\n${lines.join("\n")}${more}`);
}
