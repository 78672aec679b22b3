import { toProtoOwner } from "@reverie/client";
import type { DescribeResponse } from "@reverie/proto/memory";
import type { Command } from "commander";
import { OWNER, teach } from "../help.js";
import { detailLines, kindName } from "../output/memory.js";
import type { Output } from "../output/output.js";
import { oneLine } from "../output/printable.js";
import { bytes, count, when } from "../output/units.js";
import type { Runtime } from "../runtime.js";
import { KINDS } from "../values.js";

export function addDescribe(program: Command, runtime: Runtime): void {
  const command = program
    .command("describe")
    .argument("<owner>", OWNER)
    .action((owner: string, _options: object, command: Command) =>
      runtime.online(command, async ({ client, output, call }) => {
        const found = toDescription(owner, await client.owners.describe({ owner: toProtoOwner(owner) }, call));
        await output.result(JSON.stringify(found), detailLines(facts(found, output), output.style));
      }),
    );
  teach(command, {
    summary: "Say what an owner holds and how it fares",
    details: "An owner that doesn't exist is described as empty.",
    examples: [
      ["describe agent/ada", "counts, sizes, config, troubles"],
      ["describe agent/ada | jq .corruptLines", "one figure"],
    ],
  });
}

type Description = ReturnType<typeof toDescription>;

function toDescription(owner: string, reply: DescribeResponse) {
  const { exists, durability, attached, writable, config } = reply;
  return {
    owner,
    exists,
    seq: Number(reply.seq),
    liveBytes: Number(reply.liveBytes),
    diskBytes: Number(reply.diskBytes),
    items: reply.items.map(({ kind, entries, liveBytes, diskBytes }) => ({
      kind: kindName(kind),
      entries: Number(entries),
      liveBytes: Number(liveBytes),
      diskBytes: Number(diskBytes),
    })),
    lastAccessTs: Number(reply.lastAccessMs),
    corruptLines: Number(reply.corruptLines),
    tornTails: Number(reply.tornTails),
    droppedByCaps: Number(reply.droppedByCaps),
    watchFloorSeq: Number(reply.watchFloorSeq),
    durability,
    writable,
    attached,
    config: {
      allowedKinds: (config?.allowedKinds ?? []).map(kindName),
      maxEpisodicBytes: Number(config?.maxEpisodicBytes ?? 0),
      maxSemanticBytes: Number(config?.maxSemanticBytes ?? 0),
    },
  };
}

function facts(found: Description, { style, iso }: Output): [string, string][] {
  const { config, exists, items } = found;
  const trouble = (number: number, text: string): string => (number === 0 ? text : style.yellow(text));
  const caps = [
    ...(config.maxEpisodicBytes > 0 ? [`episodic up to ${bytes(config.maxEpisodicBytes)}`] : []),
    ...(config.maxSemanticBytes > 0 ? [`semantic up to ${bytes(config.maxSemanticBytes)}`] : []),
  ];
  return [
    ["owner", style.bold(oneLine(found.owner)) + (exists ? "" : " (doesn't exist)")],
    ...KINDS.map((kind): [string, string] => {
      const { entries = 0, liveBytes = 0 } = items.find((item) => item.kind === kind) ?? {};
      const allowed = config.allowedKinds.length === 0 || config.allowedKinds.includes(kind) ? "" : ", not allowed";
      return [kind, `${count(entries, "memory", "memories")}, ${bytes(liveBytes)}${allowed}`];
    }),
    ["on disk", bytes(found.diskBytes)],
    ["config", `${found.attached ? "its own" : "the service's defaults"}; ${caps.join(", ") || "no caps"}`],
    ["last used", found.lastAccessTs === 0 ? "never" : when(found.lastAccessTs, { iso })],
    ["seq", `${found.seq}; watch can begin behind ${found.watchFloorSeq}`],
    ["durability", found.durability],
    ["takes writes", found.writable ? "yes" : style.red("no: its log is being rewritten after a failure")],
    ["damaged", trouble(found.corruptLines, count(found.corruptLines, "line"))],
    ["torn tails", trouble(found.tornTails, String(found.tornTails))],
    ["dropped", trouble(found.droppedByCaps, `${count(found.droppedByCaps, "memory", "memories")} by caps`)],
  ];
}
