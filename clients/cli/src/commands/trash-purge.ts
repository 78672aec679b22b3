import { createInterface } from "node:readline/promises";
import { toProtoOwner } from "@reverie/client";
import type { Command } from "commander";
import { CliError, usageError } from "../cli-error.js";
import { ExitCode } from "../exit-code.js";
import { OWNER, teach } from "../help.js";
import { oneLine } from "../output/printable.js";
import { bytes, count } from "../output/units.js";
import type { Runtime, Session } from "../runtime.js";

interface Options {
  readonly expired?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function addTrashPurge(trash: Command, runtime: Runtime): void {
  const command = trash
    .command("purge")
    .argument("[owner]", OWNER)
    .argument("[ref]", "which deletion, from `trash list`")
    .option("--expired", "in place of owner and ref: everything whose time is over")
    .option("--dry-run", "with --expired: only say what would go")
    .option("-y, --yes", "don't ask; needed where nobody can be asked")
    .action((owner: string | undefined, ref: string | undefined, options: Options, command: Command) =>
      runtime.online(command, async (session) => {
        const { expired = false, dryRun = false } = options;
        if (expired === (owner !== undefined) || (!expired && (ref === undefined || dryRun))) {
          throw usageError("Give an owner and a ref, or --expired.", "`reverie trash list` shows the refs.");
        }
        if (owner === undefined || ref === undefined) return sweep(session, options);
        await confirm(session, options, `Delete ${owner}, ref ${ref}, for good?`);
        const reply = await session.client.trash.hardDelete({ owner: toProtoOwner(owner), refId: ref }, session.call);
        const freedBytes = Number(reply.freedBytes);
        await session.output.result(
          JSON.stringify({ owner, ref, freedBytes }),
          `${session.output.style.green("Purged")} ${oneLine(ref)}: ${bytes(freedBytes)} freed`,
        );
      }),
    );
  teach(command, {
    summary: "Delete something in the trash for good",
    details: "Asks on a terminal. Its space is free at once, also on a full disk.",
    examples: [
      ["trash purge agent/ada 58487d231adb0a5c", "asks first"],
      ["trash purge agent/ada 58487d231adb0a5c --yes", "in a script"],
      ["trash purge --expired --dry-run", "what the hourly sweep would take"],
    ],
  });
}

async function sweep(session: Session, { dryRun = false, ...options }: Options): Promise<void> {
  if (!dryRun) await confirm(session, options, "Delete everything in the trash whose time is over, for good?");
  const { output, client, call } = session;
  const reply = await client.trash.sweepTrash({ dryRun }, call);
  const [deleted, freedBytes] = [Number(reply.deleted), Number(reply.freedBytes)];
  const what = `${count(deleted, "deletion")}, ${bytes(freedBytes)}`;
  const text = dryRun ? `Would purge ${what}` : `${output.style.green("Purged")} ${what}`;
  await output.result(JSON.stringify({ deleted, freedBytes, dryRun }), text);
}

async function confirm({ output, signal }: Session, { yes = false }: Options, question: string): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw usageError("Purging asks first, and nobody can be asked here.", "Add --yes if it is meant.");
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await lines.question(`${output.noteStyle.bold(oneLine(question))} [y/N] `, { signal });
    if (/^y(es)?$/i.test(answer.trim())) return;
  } finally {
    lines.close();
  }
  throw new CliError(ExitCode.FAILED, "Nothing was deleted", { reason: "DECLINED", hint: "Answer y to go on." });
}
