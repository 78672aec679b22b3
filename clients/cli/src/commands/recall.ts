import { type MemoryKind, ReverieError, toProtoOwner } from "@reverie/client";
import type { RecallSummary } from "@reverie/proto/memory";
import type { Command } from "commander";
import { OWNER, teach } from "../help.js";
import { MEMORY_COLUMNS, memoryJson, memoryRow, toKind } from "../output/memory.js";
import { jsonLine, type Output } from "../output/output.js";
import { count } from "../output/units.js";
import { readStdin } from "../read-text.js";
import type { Runtime } from "../runtime.js";
import { kindOption, parseCount, parseTime } from "../values.js";

const MAX_K = 200;

interface Options {
  readonly kind?: readonly MemoryKind[];
  readonly limit?: number;
  readonly since?: number;
  readonly full?: boolean;
}

export function addRecall(program: Command, runtime: Runtime): void {
  const command = program
    .command("recall")
    .argument("<owner>", OWNER)
    .argument("[text...]", "a part of the text, in any case; - reads it from stdin; nothing: the newest memories")
    .addOption(kindOption("only of this kind, repeatable (default: all)"))
    .option("-n, --limit <n>", `the most memories, 1 to ${MAX_K} (default: 20)`, parseCount(1, MAX_K))
    .option(
      "--since <time>",
      "only of this time or later: 2026-12-31, 2026-12-31T10:00Z, epoch ms, or 2h, 7d ago",
      parseTime,
    )
    .option("--full", "whole texts in the table, not their first lines")
    .action((owner: string, words: string[], options: Options, command: Command) =>
      runtime.online(command, async ({ client, output, signal, stream }) => {
        const request = {
          owner: toProtoOwner(owner),
          text: words.length === 1 && words[0] === "-" ? await readStdin("The text", signal) : words.join(" "),
          kinds: (options.kind ?? []).map(toKind),
          k: options.limit ?? 0,
          sinceMs: BigInt(options.since ?? 0),
        };
        const table = output.tableWriter(MEMORY_COLUMNS, options.full ? Number.POSITIVE_INFINITY : undefined);
        let summary: RecallSummary | undefined;
        for await (const { event } of client.memory.recall(request, stream)) {
          if (event.case === "summary") summary = event.value;
          if (event.case !== "batch") continue;
          const { entries } = event.value;
          await output.write(
            output.json
              ? entries.map((entry) => jsonLine(memoryJson(entry))).join("")
              : table.render(entries.map((entry) => memoryRow(entry, output))),
          );
        }
        if (summary === undefined) throw new ReverieError("UNAVAILABLE", "STREAM_INCOMPLETE", "The recall broke off.");
        tell(output, summary);
      }),
    );
  teach(command, {
    summary: "Find memories by a part of their text, newest first",
    details: "Upper and lower case, and Unicode forms, are the same. Memories are shown as they are found.",
    examples: [
      ["recall agent/ada tea", "what mentions tea"],
      ["recall agent/ada", "the newest 20"],
      ["recall agent/ada green tea -n 5 --kind semantic --since 7d", "facts of the last week"],
      ["recall agent/ada tea | jq -r .text", "the texts alone"],
    ],
  });
}

/** How the answer came about, on stderr. */
function tell(output: Output, summary: RecallSummary): void {
  const { truncated } = summary;
  const [scanned, matched, returned] = [Number(summary.scanned), Number(summary.matched), Number(summary.returned)];
  const corruptLinesSkipped = Number(summary.corruptLinesSkipped);
  const json = { scanned, matched, returned, truncated, corruptLinesSkipped, seq: Number(summary.seq) };
  const found = returned === 0 ? "Nothing found" : `${returned.toLocaleString("en")} found`;
  const more = truncated ? "; there may be more: raise --limit, or see `reverie list`" : "";
  output.note(`${found}, ${count(scanned, "memory", "memories")} looked at${more}.`, { summary: json });
  if (corruptLinesSkipped > 0 && !output.jsonNotes) {
    output.warn(`${count(corruptLinesSkipped, "damaged line")} skipped: see \`reverie check\`.`, {});
  }
}
