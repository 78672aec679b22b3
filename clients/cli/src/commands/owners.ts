import { formatOwner, fromProtoOwner, type OwnerKind } from "@reverie/client";
import { OwnerKind as ProtoOwnerKind } from "@reverie/proto/memory";
import { Argument, type Command } from "commander";
import { teach } from "../help.js";
import { jsonLine } from "../output/output.js";
import type { Column } from "../output/table.js";
import { bytes, count } from "../output/units.js";
import type { Runtime } from "../runtime.js";
import { OWNER_KINDS } from "../values.js";

const COLUMNS: readonly Column[] = [
  { title: "on disk", max: 10, style: "dim" },
  { title: "config", max: 8, style: "dim" },
  { title: "owner", max: Number.POSITIVE_INFINITY },
];

const PAGE = 500;

export function addOwners(program: Command, runtime: Runtime): void {
  const command = program
    .command("owners")
    .addArgument(new Argument("[kind]", "only of this kind").choices(OWNER_KINDS))
    .action((kind: OwnerKind | undefined, _options: object, command: Command) =>
      runtime.online(command, async ({ client, output, call }) => {
        const table = output.tableWriter(COLUMNS);
        let shown = 0;
        for (const of of kind === undefined ? OWNER_KINDS : [kind]) {
          let pageToken = "";
          do {
            const request = { kind: toProtoOwnerKind(of), pageSize: PAGE, pageToken };
            const { owners, nextPageToken } = await client.owners.listOwners(request, call);
            const found = owners.map(({ owner, attached, diskBytes }) => {
              const { kind, id } = fromProtoOwner(owner);
              return { owner: formatOwner({ kind, id }), kind, id, attached, diskBytes: Number(diskBytes) };
            });
            await output.write(
              output.json
                ? found.map((owner) => jsonLine(JSON.stringify(owner))).join("")
                : table.render(found.map((f) => [bytes(f.diskBytes), f.attached ? "its own" : "default", f.owner])),
            );
            shown += found.length;
            pageToken = nextPageToken;
          } while (pageToken !== "");
        }
        if (!output.json) output.note(shown === 0 ? "No owners." : `${count(shown, "owner")}.`);
      }),
    );
  teach(command, {
    summary: "List who has memories",
    examples: [
      ["owners", "everybody"],
      ["owners agent", "the agents"],
      ["owners | jq -r .owner", "names for scripts"],
    ],
  });
}

function toProtoOwnerKind(kind: OwnerKind): ProtoOwnerKind {
  return ProtoOwnerKind[kind.replace("-", "_").toUpperCase() as keyof typeof ProtoOwnerKind];
}
