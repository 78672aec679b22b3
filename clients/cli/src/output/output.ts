import type { WriteStream } from "node:tty";
import { CliError, OutputClosed } from "../cli-error.js";
import { ExitCode } from "../exit-code.js";
import { safeJson } from "./printable.js";
import { createStyle, type Style } from "./style.js";
import { type Column, TableWriter } from "./table.js";

export interface OutputOptions {
  /** JSON lines also where stdout is a terminal, and for what goes to stderr. */
  readonly json: boolean;
  /** Tables also where stdout is no terminal. */
  readonly table: boolean;
  readonly colour: boolean;
  /** Full times in tables, not ages. */
  readonly iso: boolean;
}

/** Columns of a terminal that doesn't say. */
const DEFAULT_COLUMNS = 80;

/** stdout for results, stderr for what is said about them. */
export class Output {
  /** Results are JSON lines. */
  readonly json: boolean;
  /** What goes to stderr is JSON, too. */
  readonly jsonNotes: boolean;
  readonly iso: boolean;
  /** Of stdout. */
  readonly style: Style;
  /** Of stderr. */
  readonly noteStyle: Style;

  constructor(
    options: OutputOptions,
    readonly stdout: NodeJS.WriteStream = process.stdout,
    readonly stderr: NodeJS.WriteStream = process.stderr,
  ) {
    this.json = options.json || (!options.table && !stdout.isTTY);
    this.jsonNotes = options.json;
    this.iso = options.iso;
    this.style = createStyle(options.colour && hasColours(stdout));
    this.noteStyle = createStyle(options.colour && hasColours(stderr));
    // The write that failed says so; without a listener the process would crash besides.
    for (const stream of [stdout, stderr]) if (stream.listenerCount("error") === 0) stream.on("error", () => {});
  }

  /** Resolves when the system took it. Throws OutputClosed when nobody reads any more. */
  write(data: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.stdout.write(data, (error) => (error ? reject(toFailure(error)) : resolve()));
    });
  }

  /** A result: one JSON line, or what people see in its place, one or more lines. */
  result(json: string, text: string): Promise<void> {
    return this.write(this.json ? jsonLine(json) : text === "" ? "" : `${text}\n`);
  }

  /** Says something about the results, on stderr. */
  note(text: string, json?: object): void {
    if (!this.jsonNotes) this.stderr.write(`${this.noteStyle.dim(text)}\n`);
    else if (json !== undefined) this.stderr.write(jsonLine(JSON.stringify(json)));
  }

  /** Says something that must not be overlooked, on stderr. */
  warn(text: string, json: object): void {
    const { yellow } = this.noteStyle;
    this.stderr.write(this.jsonNotes ? jsonLine(JSON.stringify(json)) : `${yellow("warning:")} ${text}\n`);
  }

  tableWriter(columns: readonly Column[], maxLines?: number): TableWriter {
    return new TableWriter(columns, {
      columns: this.stdout.columns || DEFAULT_COLUMNS,
      style: this.style,
      ...(maxLines !== undefined && { maxLines }),
    });
  }
}

export function jsonLine(json: string): string {
  return `${safeJson(json)}\n`;
}

function hasColours(stream: NodeJS.WriteStream): boolean {
  // Also minds NO_COLOR, FORCE_COLOR and TERM.
  return stream.isTTY === true && (stream as WriteStream).hasColors();
}

function toFailure(error: Error): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EPIPE" || code === "ERR_STREAM_DESTROYED") return new OutputClosed();
  return new CliError(ExitCode.FAILED, `Can't write the output: ${error.message}`, {
    reason: "OUTPUT",
    hint: "Free some space, or send the output elsewhere.",
    cause: error,
  });
}
