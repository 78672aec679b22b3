import { Buffer, isUtf8 } from "node:buffer";
import { addAbortSignal } from "node:stream";
import { usageError } from "./cli-error.js";

const MAX_TEXT_BYTES = 1024 * 1024;

/** stdin as text; for a text, `strip` takes the one line break at its end that `echo` and editors add. */
export async function readStdin(what: string, signal: AbortSignal, { strip = true, maxBytes = MAX_TEXT_BYTES } = {}) {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of addAbortSignal(signal, process.stdin)) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    // Two more: the line break that may be stripped.
    if (size > maxBytes + 2) {
      throw usageError(`${what} from stdin is over ${maxBytes} bytes.`, "Split it into several memories.");
    }
  }
  const bytes = Buffer.concat(chunks);
  if (!isUtf8(bytes)) {
    throw usageError(
      `${what} from stdin is not UTF-8 text.`,
      "Only text is remembered: convert it, or store where it is.",
    );
  }
  const text = bytes.toString("utf8");
  return strip ? text.replace(/\r?\n$/, "") : text;
}

/** The words of the command line, or stdin: for `-`, and when there are none and stdin is no terminal. */
export async function readText(words: readonly string[], signal: AbortSignal, strip: boolean): Promise<string> {
  if (words.length === 1 && words[0] === "-") return readStdin("The text", signal, { strip });
  if (words.length > 0) return words.join(" ");
  if (!process.stdin.isTTY) return readStdin("The text", signal, { strip });
  throw usageError("There is no text to remember.", 'Give it as an argument, "in quotes", or on stdin.');
}
