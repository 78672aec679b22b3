import { type MemoryKind, newEntryId, toProtoOwner } from "@reverie/client";
import { type Command, Option } from "commander";
import { OWNER, teach } from "../help.js";
import { addMetaOptions, type MetaOptions, readMeta } from "../meta-options.js";
import { kindName, memoryJson, toKind } from "../output/memory.js";
import { oneLine } from "../output/printable.js";
import { count } from "../output/units.js";
import { readText } from "../read-text.js";
import type { Runtime } from "../runtime.js";
import { KINDS, parseTime } from "../values.js";

interface Options extends MetaOptions {
  readonly kind: MemoryKind;
  readonly id?: string;
  readonly at?: number;
  readonly raw?: boolean;
}

export function addRemember(program: Command, runtime: Runtime): void {
  const command = program
    .command("remember")
    .argument("<owner>", OWNER)
    .argument("[text...]", "what to remember; - or nothing reads it from stdin")
    .addOption(new Option("--kind <kind>", "what sort of memory it is").choices(KINDS).default("semantic"))
    .option("--id <id>", "its id, so that running this again stores it once; made when left out")
    .option(
      "--at <time>",
      "when it happened: 2026-12-31, 2026-12-31T10:00Z, epoch ms, or 2h ago (default: now)",
      parseTime,
    )
    .option("--raw", "keep the line break at the end of stdin")
    .action((owner: string, words: string[], options: Options, command: Command) =>
      runtime.online(command, async ({ client, output, signal, call }) => {
        const to = toProtoOwner(owner);
        const metaJson = await readMeta(options, signal);
        const text = await readText(words, signal, options.raw !== true);
        const { kind, id = newEntryId(), at = 0 } = options;
        const entry = { kind: toKind(kind), text, metaJson, id, tsMs: BigInt(at) };
        const reply = await client.memory.remember({ owner: to, entry }, call);
        const { entry: stored, alreadyStored } = reply;
        const droppedByCaps = Number(reply.droppedByCaps);
        if (stored === undefined) return;
        await output.result(
          memoryJson(stored, { alreadyStored, droppedByCaps }),
          `${output.style.green(alreadyStored ? "Remembered already" : "Remembered")} ${oneLine(stored.id)} (${kindName(stored.kind)})`,
        );
        if (droppedByCaps > 0 && !output.json) {
          output.note(`The owner's cap dropped ${count(droppedByCaps, "older memory", "older memories")}.`);
        }
      }),
    );
  addMetaOptions(command, "what goes with it");
  teach(command, {
    summary: "Store one memory",
    details: "It is on disk when this returns. Put -- before a text that begins with a dash.",
    examples: [
      [`remember agent/ada "Ada prefers tea"`, "a fact"],
      [`remember agent/ada --kind episodic --set source=chat "Said hello"`, "an event, with meta"],
      ["remember agent/ada - < note.txt", "the text of a file"],
      [`remember user/eve --id pref-1 "Eve is left-handed"`, "safe to run again"],
    ],
  });
}
