import { type MemoryKind, toProtoOwner } from "@reverie/client";
import type { WatchChange } from "@reverie/proto/memory";
import type { Command } from "commander";
import { toFailure } from "../failure.js";
import { follow } from "../follow.js";
import { OWNER, teach } from "../help.js";
import { kindName, MEMORY_COLUMNS, memoryJson, memoryRow, toKind } from "../output/memory.js";
import { jsonLine, type Output } from "../output/output.js";
import type { Cell, Column } from "../output/table.js";
import type { Runtime } from "../runtime.js";
import { kindOption, parseCount } from "../values.js";

interface Options {
  readonly kind?: readonly MemoryKind[];
  readonly after?: number;
  readonly all?: boolean;
  readonly full?: boolean;
}

const COLUMNS: readonly Column[] = [
  { title: "seq", max: 10, style: "dim" },
  { title: "change", max: 7 },
  ...MEMORY_COLUMNS,
];

/** The first rows that come must not decide how wide later ones may be. */
const WIDTHS: readonly Cell[] = ["1".repeat(7), "forgot", "m".repeat(15), "episodic", "10 min ago", ""];

export function addWatch(program: Command, runtime: Runtime): void {
  const command = program
    .command("watch")
    .argument("<owner>", OWNER)
    .addOption(kindOption("only of this kind, repeatable (default: all)"))
    .option("--after <seq>", "begin behind this change, the seq of the last line you saw (default: now)", parseCount(0))
    .option("--all", "begin with all memories that there are")
    .option("--full", "whole texts in the table, not their first lines")
    .action((owner: string, options: Options, command: Command) =>
      runtime.online(command, async (session) => {
        const { output } = session;
        const afterSeq = options.all ? 0 : options.after;
        const table = output.tableWriter(COLUMNS, options.full ? Number.POSITIVE_INFINITY : undefined);
        if (!output.json) await output.write(table.render([WIDTHS]).split("\n", 1).concat("").join("\n"));
        const batches = follow(session, {
          owner: toProtoOwner(owner),
          kinds: (options.kind ?? []).map(toKind),
          afterSeq: afterSeq === undefined ? undefined : BigInt(afterSeq),
          onReconnect: (error) => {
            const { message, reason } = toFailure(error);
            output.note(`${message}. Connecting again…`, { reconnecting: { reason, message } });
          },
        });
        for await (const changes of batches) {
          await output.write(
            output.json
              ? changes.map((change) => jsonLine(changeJson(change))).join("")
              : table.render(changes.map((change) => changeRow(change, output))),
          );
        }
      }),
    );
  teach(command, {
    summary: "Follow an owner's changes until Ctrl-C",
    details:
      "What changes quickly is shown once, in its latest form. Goes on by itself when the service restarts. " +
      "Ctrl-C ends it with status 130.",
    examples: [
      ["watch agent/ada", "from now on"],
      ["watch agent/ada --all", "all memories, then what changes"],
      ["watch agent/ada --after 41", "behind what you saw"],
    ],
  });
}

function changeJson({ change }: WatchChange): string {
  if (change.case === "upserted") return `{"type":"upserted",${memoryJson(change.value).slice(1)}`;
  if (change.case !== "deleted") return '{"type":"unknown"}';
  const { id, kind, seq } = change.value;
  return JSON.stringify({ type: "deleted", id, kind: kindName(kind), seq: Number(seq) });
}

function changeRow({ change }: WatchChange, output: Output): readonly Cell[] {
  if (change.case === "upserted") return [String(change.value.seq), "stored", ...memoryRow(change.value, output)];
  if (change.case !== "deleted") return ["", "unknown"];
  const { id, kind, seq } = change.value;
  return [String(seq), "forgot", id || "(no id)", kindName(kind)];
}
