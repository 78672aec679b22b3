import { formatOwner, fromProtoOwner, toProtoOwner } from "@reverie/client";
import type { TrashRef } from "@reverie/proto/memory";
import type { Command } from "commander";
import { CliError } from "../cli-error.js";
import { ExitCode } from "../exit-code.js";
import { OWNER, teach } from "../help.js";
import { jsonLine } from "../output/output.js";
import { oneLine } from "../output/printable.js";
import type { Column } from "../output/table.js";
import { count, when } from "../output/units.js";
import type { Runtime, Session } from "../runtime.js";
import { addTrashPurge } from "./trash-purge.js";

const COLUMNS: readonly Column[] = [
  { title: "ref", max: 16 },
  { title: "deleted", max: 24, style: "dim" },
  { title: "until", max: 24, spare: 2, style: "dim" },
  { title: "owner", max: 28, style: "cyan" },
  { title: "reason", max: Number.POSITIVE_INFINITY, spare: 1 },
];

export function addTrash(program: Command, runtime: Runtime): void {
  const trash = program.command("trash");
  addList(trash, runtime);
  addDelete(trash, runtime);
  addRestore(trash, runtime);
  addTrashPurge(trash, runtime);
  teach(trash, {
    summary: "Delete whole owners with a way back, and for good",
    details: "What is in the trash is deleted for good by itself after 30 days, unless the service is told otherwise.",
    examples: [
      ["trash delete agent/ada --reason 'left the team'", "into the trash"],
      ["trash list", "what is in it"],
      ["trash restore agent/ada", "back again"],
      ["trash purge agent/ada 58487d231adb0a5c", "gone for good"],
    ],
  });
}

function addList(trash: Command, runtime: Runtime): void {
  const command = trash
    .command("list")
    .argument("[owner]", `only of this owner: ${OWNER}`)
    .action((owner: string | undefined, _options: object, command: Command) =>
      runtime.online(command, async (session) => {
        const { output } = session;
        const refs = await readRefs(session, owner);
        const rows = refs.map((ref) => [
          ref.refId,
          when(ref.deletedAtMs, output),
          when(ref.expiresAtMs, output),
          ownerOf(ref),
          ref.hasPayload ? ref.reason : [ref.reason, "(empty)"].join(" ").trim(),
        ]);
        await output.write(
          output.json ? refs.map((ref) => jsonLine(refJson(ref))).join("") : output.tableWriter(COLUMNS).render(rows),
        );
        if (!output.json) output.note(refs.length === 0 ? "The trash is empty." : `${count(refs.length, "deletion")}.`);
      }),
    );
  teach(command, {
    summary: "List what is in the trash, newest first",
    examples: [
      ["trash list", "everybody's"],
      ["trash list agent/ada", "one owner's"],
    ],
  });
}

function addDelete(trash: Command, runtime: Runtime): void {
  const command = trash
    .command("delete")
    .argument("<owner>", OWNER)
    .option("--reason <text>", "why, for people", "")
    .action((owner: string, { reason }: { reason: string }, command: Command) =>
      runtime.online(command, async ({ client, output, call }) => {
        const { ref, moved, seq } = await client.trash.softDelete({ owner: toProtoOwner(owner), reason }, call);
        if (ref === undefined) return;
        const until = when(ref.expiresAtMs, { iso: true });
        const text = moved
          ? `${output.style.green("Deleted")} ${oneLine(owner)}: ref ${ref.refId}, kept until ${until}`
          : `${oneLine(owner)} has nothing to delete (ref ${ref.refId})`;
        await output.result(refJson(ref, { moved, seq: Number(seq) }), text);
      }),
    );
  teach(command, {
    summary: "Move an owner to the trash, with all it has",
    details: "`trash restore` brings it back.",
    examples: [["trash delete agent/ada --reason 'left the team'", "prints the ref"]],
  });
}

function addRestore(trash: Command, runtime: Runtime): void {
  const command = trash
    .command("restore")
    .argument("<owner>", OWNER)
    .argument("[ref]", "which deletion, from `trash list` (default: the newest one that holds something)")
    .action((owner: string, ref: string | undefined, _options: object, command: Command) =>
      runtime.online(command, async (session) => {
        const { client, output, call } = session;
        const refId = ref ?? (await newestRef(session, owner));
        const reply = await client.trash.restore({ owner: toProtoOwner(owner), refId }, call);
        const [entries, seq] = [Number(reply.entries), Number(reply.seq)];
        await output.result(
          JSON.stringify({ owner, ref: refId, entries, seq }),
          `${output.style.green("Restored")} ${oneLine(owner)}: ${count(entries, "memory", "memories")}`,
        );
      }),
    );
  teach(command, {
    summary: "Bring an owner back from the trash",
    details: "Refused while the owner has memories: its present life goes to the trash first.",
    examples: [
      ["trash restore agent/ada", "the newest deletion"],
      ["trash restore agent/ada 58487d231adb0a5c", "that one"],
    ],
  });
}

async function newestRef(session: Session, owner: string): Promise<string> {
  const ref = (await readRefs(session, owner)).find(({ hasPayload }) => hasPayload);
  if (ref !== undefined) return ref.refId;
  throw new CliError(ExitCode.NOT_FOUND, `${owner} has nothing in the trash`, {
    reason: "TRASH_NOT_FOUND",
    hint: "`reverie trash list` shows everybody's.",
  });
}

async function readRefs({ client, stream }: Session, owner: string | undefined): Promise<TrashRef[]> {
  const refs: TrashRef[] = [];
  const request = owner === undefined ? {} : { owner: toProtoOwner(owner) };
  for await (const reply of client.trash.listTrash(request, stream)) refs.push(...reply.refs);
  return refs;
}

function ownerOf({ owner }: TrashRef): string {
  return formatOwner(fromProtoOwner(owner));
}

function refJson(ref: TrashRef, more: object = {}): string {
  const { refId, deletedAtMs, expiresAtMs, reason, hasPayload } = ref;
  const times = { deletedTs: Number(deletedAtMs), expiresTs: Number(expiresAtMs) };
  return JSON.stringify({ ref: refId, owner: ownerOf(ref), ...times, reason, hasPayload, ...more });
}
