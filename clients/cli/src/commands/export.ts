import type { ExportStream, ExportSummary, MemoryKind } from "@reverie/client";
import { toProtoOwner } from "@reverie/client";
import { type Command, Option } from "commander";
import { MarkdownPage } from "../export/markdown.js";
import { fileSink, type Sink, stdoutSink } from "../export/sink.js";
import { OWNER, teach } from "../help.js";
import { splitLines } from "../lines.js";
import { kindName } from "../output/memory.js";
import { oneLine } from "../output/printable.js";
import { bytes, count } from "../output/units.js";
import { type Amount, Progress } from "../progress.js";
import type { Runtime, Session } from "../runtime.js";
import { kindOption } from "../values.js";

interface Options {
  readonly kind?: readonly MemoryKind[];
  readonly format: "jsonl" | "markdown";
  readonly output?: string;
}

const LF = 0x0a;
/** Characters that are written at once. */
const MARKDOWN_PIECE = 65_536;

export function addExport(program: Command, runtime: Runtime): void {
  const command = program
    .command("export")
    .argument("<owner>", OWNER)
    .addOption(kindOption("only of this kind, repeatable (default: all)"))
    .addOption(
      new Option("--format <format>", "jsonl for `import`, markdown for people")
        .choices(["jsonl", "markdown"])
        .default("jsonl"),
    )
    .option("-o, --output <file>", "a file in place of stdout; it appears, or is replaced, when all is there")
    .action((owner: string, options: Options, command: Command) =>
      runtime.online(command, (session) => exportOwner(session, owner, options)),
    );
  teach(command, {
    summary: "Write an owner's memories as JSONL, or as a Markdown page",
    details:
      "All live memories, whole, whatever the owner's config allows. An export that breaks off is an error, and leaves no file.",
    examples: [
      ["export agent/ada -o ada.jsonl", "a backup"],
      ["export agent/ada | gzip > ada.jsonl.gz", "through a pipe"],
      ["export agent/ada --format markdown -o ada.md", "to read"],
      ["export agent/ada | reverie import agent/eve -", "a copy for somebody else"],
    ],
  });
}

async function exportOwner(session: Session, owner: string, { kind, format, output: path }: Options): Promise<void> {
  const { client, output, stream } = session;
  const toFile = path !== undefined && path !== "-";
  const shown = toFile || !output.stdout.isTTY;
  const progress = shown ? new Progress(output, "Exporting", await expected(session, owner, kind)) : undefined;
  const source = client.exportOwner(owner, { ...stream, ...(kind && { kinds: kind }) });
  const sink = toFile ? await fileSink(path) : stdoutSink(output);
  let written: number | undefined;
  try {
    if (format === "markdown") written = await writeMarkdown(owner, source, sink, progress);
    else for await (const chunk of counted(source, progress)) await sink.write(chunk);
    progress?.done();
    await sink.commit();
  } finally {
    progress?.done();
    await sink.discard();
  }
  const summary = source.summary as ExportSummary;
  const name = format === "markdown" ? "Markdown" : "JSONL";
  await tell(session, { ...summary, bytes: written ?? summary.bytes }, name, toFile ? path : undefined);
}

/** Returns the bytes of the page. */
async function writeMarkdown(owner: string, source: ExportStream, sink: Sink, progress?: Progress): Promise<number> {
  const page = new MarkdownPage();
  for await (const { bytes } of splitLines(counted(source, progress))) page.add(bytes);
  let [size, text] = [0, ""];
  const flush = async () => {
    size += Buffer.byteLength(text);
    await sink.write(text);
    text = "";
  };
  for (const piece of page.render(owner, Date.now())) {
    text += piece;
    if (text.length >= MARKDOWN_PIECE) await flush();
  }
  await flush();
  return size;
}

async function* counted(source: ExportStream, progress: Progress | undefined): AsyncGenerator<Uint8Array> {
  let [entries, size] = [0, 0];
  for await (const chunk of source) {
    yield chunk;
    size += chunk.length;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, at + 1)) entries++;
    progress?.update({ entries, bytes: size });
  }
}

async function expected({ client, call }: Session, owner: string, kinds: readonly MemoryKind[] = []): Promise<Amount> {
  const { items } = await client.owners.describe({ owner: toProtoOwner(owner) }, call);
  const wanted = items.filter(({ kind }) => kinds.length === 0 || kinds.includes(kindName(kind)));
  return {
    entries: wanted.reduce((sum, { entries }) => sum + Number(entries), 0),
    bytes: wanted.reduce((sum, { liveBytes }) => sum + Number(liveBytes), 0),
  };
}

/** On stdout where the export went to a file, else on stderr. */
async function tell({ output }: Session, summary: ExportSummary, format: string, file?: string): Promise<void> {
  const { entries, bytes: size, corruptLinesSkipped } = summary;
  const what = `${count(entries, "memory", "memories")}, ${bytes(size)} of ${format}`;
  if (file === undefined) output.note(`Exported ${what}.`, { summary });
  else {
    const text = `${output.style.green("Exported")} ${what} to ${oneLine(file)}`;
    await output.result(JSON.stringify({ file, ...summary }), text);
  }
  if (corruptLinesSkipped === 0) return;
  const left = `${count(corruptLinesSkipped, "damaged line")} left out: see \`reverie check\`.`;
  output.warn(left, { warning: { corruptLinesSkipped } });
}
