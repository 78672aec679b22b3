import { type MemoryKind, toProtoOwner } from "@reverie/client";
import { ListOrder } from "@reverie/proto/memory";
import { type Command, Option } from "commander";
import { OWNER, teach } from "../help.js";
import { MEMORY_COLUMNS, memoryJson, memoryRow, toKind } from "../output/memory.js";
import { jsonLine } from "../output/output.js";
import { count } from "../output/units.js";
import type { Runtime } from "../runtime.js";
import { kindOption, parseCount } from "../values.js";

interface Options {
  readonly kind?: readonly MemoryKind[];
  readonly limit?: number;
  readonly order: "newest" | "oldest";
  readonly full?: boolean;
}

const PAGE = 500;

export function addList(program: Command, runtime: Runtime): void {
  const command = program
    .command("list")
    .argument("<owner>", OWNER)
    .addOption(kindOption("only of this kind, repeatable (default: all)"))
    .option("-n, --limit <n>", "the most memories (default: all)", parseCount(1))
    .addOption(new Option("--order <order>", "which come first").choices(["newest", "oldest"]).default("newest"))
    .option("--full", "whole texts in the table, not their first lines")
    .action((owner: string, options: Options, command: Command) =>
      runtime.online(command, async ({ client, output, call }) => {
        const request = {
          owner: toProtoOwner(owner),
          kinds: (options.kind ?? []).map(toKind),
          order: options.order === "oldest" ? ListOrder.OLDEST_FIRST : ListOrder.NEWEST_FIRST,
        };
        const limit = options.limit ?? Number.POSITIVE_INFINITY;
        const table = output.tableWriter(MEMORY_COLUMNS, options.full ? Number.POSITIVE_INFINITY : undefined);
        let shown = 0;
        let pageToken = "";
        do {
          const pageSize = Math.min(PAGE, limit - shown);
          const page = await client.memory.listEntries({ ...request, pageSize, pageToken }, call);
          const { entries } = page;
          await output.write(
            output.json
              ? entries.map((entry) => jsonLine(memoryJson(entry))).join("")
              : table.render(entries.map((entry) => memoryRow(entry, output))),
          );
          shown += entries.length;
          pageToken = page.nextPageToken;
        } while (pageToken !== "" && shown < limit);
        if (output.json) return;
        const more = pageToken === "" ? "" : "; there are more";
        output.note(shown === 0 ? "No memories." : `${count(shown, "memory", "memories")}${more}.`);
      }),
    );
  teach(command, {
    summary: "List an owner's memories, all of them",
    details: "In the table long texts show their first lines; JSON lines, and `get`, have them whole.",
    examples: [
      ["list agent/ada", "newest first"],
      ["list agent/ada --kind working -n 10", "the ten newest of a kind"],
      ["list agent/ada --order oldest | jq -r .id", "the ids alone"],
    ],
  });
}
