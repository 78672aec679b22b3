import { toProtoOwner } from "@reverie/client";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import { OWNER, teach } from "../help.js";
import { addMetaOptions, type MetaOptions, readMeta } from "../meta-options.js";
import { memoryJson } from "../output/memory.js";
import { oneLine } from "../output/printable.js";
import type { Runtime } from "../runtime.js";
import { collect } from "../values.js";
import { notFound } from "./forget.js";
import { ID } from "./get.js";

interface Options extends MetaOptions {
  readonly remove?: readonly string[];
}

export function addPatch(program: Command, runtime: Runtime): void {
  const command = program
    .command("patch")
    .argument("<owner>", OWNER)
    .argument("<id>", ID)
    .option("--remove <key>", "take this key away, repeatable", collect)
    .action((owner: string, id: string, options: Options, command: Command) =>
      runtime.online(command, async ({ client, output, signal, call }) => {
        const patchJson = await readMeta(options, signal);
        const removeKeys = [...(options.remove ?? [])];
        if (patchJson === "" && removeKeys.length === 0) {
          throw usageError("There is nothing to change.", "Give --set key=value, --meta JSON or --remove key.");
        }
        const request = { owner: toProtoOwner(owner), id, patchJson, removeKeys };
        const { found, entry, copies } = await client.memory.patchMeta(request, call);
        if (!found || entry === undefined) throw notFound(owner, [id]);
        const meta = entry.metaJson === "" ? "no meta now" : oneLine(entry.metaJson);
        await output.result(
          memoryJson(entry, copies > 1 ? { copies } : {}),
          `${output.style.green("Patched")} ${oneLine(id)}: ${meta}`,
        );
      }),
    );
  addMetaOptions(command, "keys that are set");
  teach(command, {
    summary: "Change keys of a memory's meta",
    details: "Other keys stay as they are. A text can't be changed: forget it and remember another.",
    examples: [
      ["patch agent/ada mabc1234-x7f0qz --set checked=true", "sets a key"],
      ["patch agent/ada mabc1234-x7f0qz --remove source", "takes one away"],
      [`patch agent/ada mabc1234-x7f0qz --meta '{"tags":["tea"]}'`, "several keys as JSON"],
    ],
  });
}
