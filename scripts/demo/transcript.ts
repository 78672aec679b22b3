import { isUtf8 } from "node:buffer";

/** What somebody said in a session. */
export interface TranscriptMessage {
  /** `L<n>`, n the 1-based line in the file: the format's lines have no ids of their own. */
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  /** Epoch milliseconds. */
  readonly ts: number;
}

export interface Transcript {
  /** "" when no header names it, or by no usable id. */
  readonly sessionId: string;
  readonly messages: readonly TranscriptMessage[];
  /** Lines with something in them. */
  readonly lines: number;
  readonly skipped: {
    /** Results of tools. */
    readonly toolResults: number;
    /** Messages without a text, such as those that only call a tool. */
    readonly withoutText: number;
    /** Headers, changes of the model and whatever else is no message of these two. */
    readonly otherLines: number;
    /** Texts over the limit. */
    readonly tooLong: number;
    /** Torn lines, and those that hold no JSON object. */
    readonly unreadable: number;
  };
}

type JsonObject = Readonly<Record<string, unknown>>;

const NEWLINE = 0x0a;
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const MAX_TIME_MS = 8_640_000_000_000_000;

/**
 * Reads a session file of version 1: one JSON object a line, a header first, messages after it in the order in which they
 * were said. Nothing in it makes this fail: what can't be used is skipped and counted.
 */
export function readTranscript(file: Buffer, maxTextBytes: number): Transcript {
  const messages: TranscriptMessage[] = [];
  const skipped = { toolResults: 0, withoutText: 0, otherLines: 0, tooLong: 0, unreadable: 0 };
  let sessionId = "";
  let lines = 0;
  // A message without a time of its own takes that of the one before.
  let ts = 0;
  for (const { number, bytes } of linesOf(file)) {
    lines++;
    const entry = parseObject(bytes);
    if (entry === undefined) {
      skipped.unreadable++;
      continue;
    }
    ts = timeOf(entry) ?? ts;
    const { message } = entry;
    if (entry.type === "session" && sessionId === "" && SESSION_ID.test(String(entry.id))) sessionId = String(entry.id);
    if (entry.type !== "message" || !isObject(message)) {
      skipped.otherLines++;
      continue;
    }
    const { role } = message;
    if (role !== "user" && role !== "assistant") {
      if (role === "toolResult") skipped.toolResults++;
      else skipped.otherLines++;
      continue;
    }
    const text = textOf(message.content);
    if (text.trim() === "") skipped.withoutText++;
    else if (Buffer.byteLength(text) > maxTextBytes) skipped.tooLong++;
    else messages.push({ id: `L${number}`, role, text, ts });
  }
  return { sessionId, messages, lines, skipped };
}

/** Lines with something in them, with their 1-based numbers. Only LF ends a line: texts may hold U+2028. */
export function* linesOf(file: Buffer): Generator<{ number: number; bytes: Buffer }> {
  let start = 0;
  for (let number = 1; start < file.length; number++) {
    const found = file.indexOf(NEWLINE, start);
    const end = found < 0 ? file.length : found;
    const bytes = file.subarray(start, end);
    if (bytes.some((byte) => byte > 0x20)) yield { number, bytes };
    start = end + 1;
  }
}

function parseObject(bytes: Buffer): JsonObject | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Epoch milliseconds of the message, else of its line. */
function timeOf(entry: JsonObject): number | undefined {
  const said = isObject(entry.message) ? entry.message.timestamp : undefined;
  const written = typeof entry.timestamp === "string" ? Date.parse(entry.timestamp) : entry.timestamp;
  return [said, written].find(
    (ms): ms is number => typeof ms === "number" && Number.isInteger(ms) && ms > 0 && ms <= MAX_TIME_MS,
  );
}

/** The texts of a message's content; thinking, tool calls and images are left out. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .filter(isObject)
    .flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
    .join("\n");
}
