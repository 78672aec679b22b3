import { toProtoOwner } from "@reverie/client";
import type { Command } from "commander";
import { CliError } from "../cli-error.js";
import { ExitCode } from "../exit-code.js";
import { OWNER, teach } from "../help.js";
import { oneLine } from "../output/printable.js";
import type { Runtime } from "../runtime.js";

export function addForget(program: Command, runtime: Runtime): void {
  const command = program
    .command("forget")
    .argument("<owner>", OWNER)
    .argument("<id...>", "their ids; put -- before one that begins with a dash")
    .action((owner: string, ids: string[], _options: object, command: Command) =>
      runtime.online(command, async ({ client, output, call }) => {
        const to = toProtoOwner(owner);
        const unknown: string[] = [];
        for (const id of ids) {
          const { found, copies, seq } = await client.memory.forget({ owner: to, id }, call);
          if (!found) unknown.push(id);
          const json = JSON.stringify({ id, found, copies, seq: Number(seq) });
          if (output.json || found) await output.result(json, `${output.style.green("Forgot")} ${oneLine(id)}`);
        }
        if (unknown.length > 0) throw notFound(owner, unknown);
      }),
    );
  teach(command, {
    summary: "Erase memories for good",
    details: "Their bytes are overwritten. There is no way back; backups and exports keep theirs.",
    examples: [
      ["forget agent/ada mabc1234-x7f0qz", "one memory"],
      ["recall agent/ada 'old project' | jq -r .id | xargs reverie forget agent/ada --", "what a recall found"],
    ],
  });
}

export function notFound(owner: string, ids: readonly string[]): CliError {
  return new CliError(ExitCode.NOT_FOUND, `${owner} has no memory ${ids.join(", ")}`, {
    reason: "ENTRY_NOT_FOUND",
    hint: `\`reverie list ${owner}\` shows the ids that there are.`,
  });
}
