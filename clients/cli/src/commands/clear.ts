import { type MemoryKind, toProtoOwner } from "@reverie/client";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import { OWNER, teach } from "../help.js";
import { toKind } from "../output/memory.js";
import { count } from "../output/units.js";
import type { Runtime } from "../runtime.js";
import { kindOption } from "../values.js";

interface Options {
  readonly kind?: readonly MemoryKind[];
  readonly all?: boolean;
}

export function addClear(program: Command, runtime: Runtime): void {
  const command = program
    .command("clear")
    .argument("<owner>", OWNER)
    .addOption(kindOption("of this kind, repeatable"))
    .option("--all", "of every kind")
    .action((owner: string, { kind = [], all = false }: Options, command: Command) =>
      runtime.online(command, async ({ client, output, call }) => {
        if (all === kind.length > 0) {
          throw usageError(
            all ? "--all and --kind can't go together." : `Nothing says what of ${owner} to erase.`,
            "Name the kinds, such as --kind working, or give --all for the whole owner. `reverie trash delete` has a way back.",
          );
        }
        const reply = await client.memory.clear({ owner: toProtoOwner(owner), kinds: kind.map(toKind), all }, call);
        const [removed, seq] = [Number(reply.removed), Number(reply.seq)];
        const text = `${output.style.green("Erased")} ${count(removed, "memory", "memories")}`;
        await output.result(JSON.stringify({ removed, seq }), text);
      }),
    );
  teach(command, {
    summary: "Erase all memories of some kinds, or of the whole owner, for good",
    details: "There is no way back: `trash delete` is the one with a way back.",
    examples: [
      ["clear agent/ada --kind working", "one kind"],
      ["clear agent/ada --all", "everything"],
    ],
  });
}
