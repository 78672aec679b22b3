import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type ImportResult, ReverieError, toProtoOwner } from "@reverie/client";
import type { Command } from "commander";
import { CliError, fileError } from "../cli-error.js";
import { ExitCode } from "../exit-code.js";
import { toFailure } from "../failure.js";
import { OWNER, teach } from "../help.js";
import { withIds } from "../import/with-ids.js";
import { oneLine } from "../output/printable.js";
import { count } from "../output/units.js";
import { Progress } from "../progress.js";
import type { Runtime, Session } from "../runtime.js";

/** Lines; of a file that isn't JSONL, all are refused. */
const SHOWN_REFUSED = 20;
const LF = 0x0a;
const CHUNK_BYTES = 256 * 1024;
/** Waits before a file is sent again after the connection was lost, milliseconds: some 30 s in all, for a restart. */
const RETRY_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000];

export function addImport(program: Command, runtime: Runtime): void {
  const command = program
    .command("import")
    .argument("<owner>", OWNER)
    .argument("<file>", "JSONL, as `export` writes it; - reads stdin")
    .action((owner: string, file: string, _options: object, command: Command) =>
      runtime.online(command, (session) => importFile(session, owner, file)),
    );
  teach(command, {
    summary: "Store memories from JSONL",
    details:
      "Each line is a JSON object with a kind and a text, which may have an id, a ts (epoch ms) and a meta. What is stored already " +
      "is counted, not stored twice, so an import that broke off can be run again; lines without an id get one made of what they say. Refused lines are named with the " +
      "reason, and the others stored.",
    examples: [
      ["import agent/ada ada.jsonl", "from a file"],
      ["import agent/ada - < ada.jsonl", "from stdin"],
      [`import agent/ada notes.jsonl | jq -c '.refusedItems[]'`, "what was refused, and why"],
    ],
  });
}

async function importFile(session: Session, owner: string, file: string): Promise<void> {
  // Also says early, and with retries, that the service is there and the owner can be one.
  await session.client.owners.describe({ owner: toProtoOwner(owner) }, session.call);
  const result = file === "-" ? await send(session, owner, process.stdin) : await sendFile(session, owner, file);
  await tell(session, result);
}

/** Sends it again from the start when the connection breaks: what was stored by then is not stored twice. */
async function sendFile(session: Session, owner: string, file: string): Promise<ImportResult> {
  const info = await stat(file).catch((error: unknown) => {
    throw fileError(`Can't read ${file}`, error);
  });
  // A pipe can be read once.
  const waits = info.isFile() ? RETRY_MS : [];
  for (let attempt = 0; ; attempt++) {
    try {
      const source = createReadStream(file, { highWaterMark: CHUNK_BYTES });
      return await send(session, owner, source, info.isFile() ? info.size : undefined);
    } catch (error) {
      const wait = waits[attempt];
      if (!(error instanceof ReverieError) || error.code !== "UNAVAILABLE" || wait === undefined) throw error;
      const { message, reason } = toFailure(error);
      session.output.note(`${message}. Sending ${oneLine(file)} again…`, { reconnecting: { reason, message } });
      await sleep(Math.max(wait, error.retryAfterMs ?? 0), undefined, { signal: session.signal });
    }
  }
}

async function send(
  { client, output, signal, stream }: Session,
  owner: string,
  source: AsyncIterable<Uint8Array>,
  totalBytes?: number,
): Promise<ImportResult> {
  const progress = new Progress(output, "Importing", totalBytes === undefined ? {} : { bytes: totalBytes });
  let sourceError: unknown;
  let bytes = 0;
  let entries = 0;
  async function* read() {
    try {
      for await (const chunk of source) {
        bytes += chunk.length;
        for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, at + 1)) entries++;
        progress.update({ entries, bytes });
        yield chunk;
      }
    } catch (error) {
      sourceError = error;
      throw error;
    }
  }
  try {
    return await client.importOwner(owner, withIds(read()), stream);
  } catch (error) {
    if (signal.aborted) output.note("Interrupted. What came before may be stored; run it again to go on.");
    throw sourceError === undefined ? error : fileError("Can't read what is to be imported", sourceError);
  } finally {
    progress.done();
  }
}

async function tell({ output }: Session, result: ImportResult): Promise<void> {
  const { stored, alreadyStored, refused, skippedLines, droppedByCaps, stopped } = result;
  const refusedItems = result.refusedItems.map(({ index, ...item }) => ({ line: index + 1, ...item }));
  if (!output.jsonNotes) {
    for (const { line, id, reason, message } of refusedItems.slice(0, SHOWN_REFUSED)) {
      output.note(oneLine(`line ${line}${id === "" ? "" : ` (${id})`}: ${reason}: ${message}`));
    }
    const more = refused - SHOWN_REFUSED;
    if (more > 0) output.note(`…and ${more.toLocaleString("en")} more; with --json they are in refusedItems.`);
  }
  const parts = [
    `${output.style.green("Stored")} ${count(stored, "memory", "memories")}`,
    `${alreadyStored.toLocaleString("en")} there already`,
    `${refused.toLocaleString("en")} refused`,
    ...(skippedLines > 0 ? [`${count(skippedLines, "line")} without a memory`] : []),
    ...(droppedByCaps > 0 ? [`${count(droppedByCaps, "older one")} dropped by the owner's caps`] : []),
  ];
  const { firstSeq, lastSeq } = result;
  await output.result(
    JSON.stringify({
      ...{ stored, alreadyStored, refused, skippedLines, droppedByCaps, stopped, firstSeq, lastSeq, refusedItems },
    }),
    parts.join(", "),
  );
  if (refused === 0) return;
  const rest = stopped ? "; after 1,000 the service stopped reading" : "";
  throw new CliError(ExitCode.PARTLY, `${count(refused, "line was", "lines were")} refused${rest}`, {
    reason: "PARTLY_REFUSED",
    hint: refusedItems.every(({ reason }) => reason === "ENTRY_FORGOTTEN")
      ? "They were forgotten on purpose. To store them all the same, give them other ids, or none, and import again."
      : "Mend those lines and import again: what is stored is not stored twice.",
  });
}
