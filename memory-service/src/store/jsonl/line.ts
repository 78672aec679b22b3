import { isAscii } from "node:buffer";
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { scanObject } from "../../text/json-object.js";
import type { Kind } from "../store.js";

// One line of a log, as docs/storage.md describes it: the only place that knows how
// lines are spelled.

export interface Range {
  /** Byte offset in the log. */
  readonly at: number;
  /** Bytes, without the newline. */
  readonly len: number;
}

export interface EntryLine {
  readonly type: "entry";
  readonly id: string;
  /** As the line says; the log's name counts. */
  readonly kind?: string | undefined;
  readonly text: string;
  readonly ts: number;
  /** 0 in lines older than Reverie. */
  readonly seq: number;
  /** undefined: the same as seq, or by offset in a legacy line. */
  readonly ord: number | undefined;
  /** Hash of the first-sent meta, in lines that PatchMeta or a copy wrote. */
  readonly meta0: string | undefined;
  readonly was: Range | undefined;
  readonly legacy: boolean;
  /** Known to be all ASCII, with nothing escaped. Default not known. */
  readonly isPlain?: boolean;
}

export type Line =
  | EntryLine
  /** Readable, but the checksum is another line's: kept, not served. */
  | { readonly type: "stale"; readonly id: string }
  | {
      readonly type: "forget";
      readonly id: string;
      readonly hash: string;
      readonly was: Range | undefined;
      readonly seq: number;
      readonly ts: number;
    }
  | { readonly type: "cleared"; readonly hashes: readonly string[]; readonly seq: number; readonly ts: number }
  | { readonly type: "head"; readonly seq: number; readonly floor: number; readonly dropped: number }
  | { readonly type: "blank" }
  | { readonly type: "bad" };

/** Legacy lines sort before all of ours: their ord is the byte offset less this. */
export const LEGACY_ORD_BASE = 2 ** 52;

const CRC_MARK = Buffer.from(',"crc":');
const MAX_CRC_DIGITS = 10;

export interface EntryFields {
  readonly id: string;
  readonly kind: Kind;
  readonly text: string;
  readonly ts: number;
  /** JSON object text, "" for none. */
  readonly meta: string;
  readonly seq: number;
  readonly ord: number;
  readonly late: boolean;
  readonly meta0?: string | undefined;
  readonly was?: Range | undefined;
}

export function encodeEntry(entry: EntryFields): Buffer {
  let line = `{"id":${JSON.stringify(entry.id)},"kind":"${entry.kind}","text":${JSON.stringify(entry.text)},"ts":${entry.ts}`;
  if (entry.meta !== "") line += `,"meta":${entry.meta}`;
  line += `,"seq":${entry.seq}`;
  if (entry.ord !== entry.seq) line += `,"ord":${entry.ord}`;
  if (entry.late) line += `,"late":true`;
  if (entry.meta0 !== undefined) line += `,"meta0":"${entry.meta0}"`;
  if (entry.was !== undefined) line += `,"was":{"at":${entry.was.at},"len":${entry.was.len}}`;
  return seal(line);
}

export function encodeForget(id: string, hash: string, was: Range | undefined, seq: number, ts: number): Buffer {
  const range = was === undefined ? "" : `,"was":{"at":${was.at},"len":${was.len}}`;
  return seal(`{"forget":${JSON.stringify(id)},"hash":"${hash}"${range},"seq":${seq},"ts":${ts}`);
}

export function encodeCleared(hashes: readonly string[], seq: number, ts: number): Buffer {
  return seal(`{"cleared":${JSON.stringify(hashes)},"seq":${seq},"ts":${ts}`);
}

export function encodeHead(seq: number, floor: number, dropped: number): Buffer {
  return seal(`{"head":{"seq":${seq},"floor":${floor}${dropped > 0 ? `,"dropped":${dropped}` : ""}}`);
}

/** A patched line for another file: the same entry, without the range that it replaced in its own. */
export function encodeCopy(
  bytes: Buffer,
  line: EntryLine,
  place: { readonly kind: Kind; readonly ord: number; readonly late: boolean },
): Buffer {
  const { id, text, ts, seq, meta0 } = line;
  return encodeEntry({ id, text, ts, seq, meta0, meta: metaOf(bytes, line), ...place });
}

/** A legacy line with all its members as they are, made ours so that a copy keeps its place in the order. */
export function reencodeLegacy(line: Buffer, ord: number): Buffer {
  const text = line.toString();
  return seal(`${text.slice(0, text.lastIndexOf("}"))},"seq":0,"ord":${ord}`);
}

/** The most bytes by which that makes a line longer. */
export function reencodingBytes(ord: number): number {
  return `,"seq":0,"ord":${ord},"crc":4294967295`.length;
}

function seal(open: string): Buffer {
  return Buffer.from(`${open},"crc":${crc32(open)}}\n`);
}

const PLAIN = String.raw`[^"\\\x00-\x1f]*`;
const WHOLE = String.raw`(?:0|[1-9]\d{0,14})`;
const MEMBER = `"${PLAIN}":(?:"${PLAIN}"|${WHOLE}|true|false|null)`;
/** An expression may need some bytes of stack a character, and has 64 MiB. */
const MAX_USUAL_BYTES = 64 * 1024;
/** Most entries, as `encodeEntry` spells them: nothing escaped, moved or patched, a flat meta. JSON.parse takes twice as long. */
const USUAL = new RegExp(
  `^{"id":"(${PLAIN})","kind":"([a-z]+)","text":"(${PLAIN})","ts":(${WHOLE})` +
    `(?:,"meta":{(?:${MEMBER}(?:,${MEMBER})*)?})?,"seq":(${WHOLE}),"crc":[0-9]{1,10}}$`,
);

/** `line` holds one line's bytes without its newline. */
export function decodeLine(line: Buffer): Line {
  return decodeUsual(line) ?? decodeAny(line);
}

/** The same as `decodeAny` says, of most lines; undefined of others, and of what isn't all right. */
function decodeUsual(line: Buffer): EntryLine | undefined {
  if (line.length > MAX_USUAL_BYTES) return undefined;
  const isPlain = isAscii(line);
  const found = USUAL.exec(line.toString(isPlain ? "latin1" : "utf8"));
  if (found === null || !crcHolds(line)) return undefined;
  return {
    type: "entry",
    id: found[1],
    kind: found[2],
    text: found[3],
    ts: Number(found[4]),
    seq: Number(found[5]),
    ord: undefined,
    meta0: undefined,
    was: undefined,
    legacy: false,
    isPlain,
  };
}

/** Of a line that anybody may have written. */
export function decodeAny(line: Buffer): Line {
  let first = 0;
  while (first < line.length && isSpace(line[first])) first++;
  if (first === line.length) return { type: "blank" };
  if (line[first] !== 0x7b) return { type: "bad" };
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(line.toString());
  } catch {
    return { type: "bad" };
  }
  const { seq, crc } = parsed;
  if (seq === undefined && crc === undefined && !ENDS_LIKE_OURS.test(line.toString("latin1", line.length - 24)))
    return decodeLegacy(parsed);
  if (!crcHolds(line)) {
    return typeof parsed.id === "string" && typeof parsed.text === "string"
      ? { type: "stale", id: parsed.id }
      : { type: "bad" };
  }
  if (typeof parsed.id === "string" && typeof parsed.text === "string") {
    return {
      type: "entry",
      id: parsed.id,
      kind: kindOf(parsed),
      text: parsed.text,
      ts: number(parsed.ts),
      seq: number(seq),
      ord: parsed.ord === undefined ? undefined : number(parsed.ord),
      meta0: typeof parsed.meta0 === "string" ? parsed.meta0 : undefined,
      was: range(parsed.was),
      legacy: false,
    };
  }
  if (typeof parsed.forget === "string") {
    return {
      type: "forget",
      id: parsed.forget,
      hash: String(parsed.hash),
      was: range(parsed.was),
      seq: number(seq),
      ts: number(parsed.ts),
    };
  }
  if (Array.isArray(parsed.cleared)) {
    return { type: "cleared", hashes: parsed.cleared.map(String), seq: number(seq), ts: number(parsed.ts) };
  }
  if (typeof parsed.head === "object" && parsed.head !== null) {
    const head = parsed.head as Record<string, unknown>;
    return { type: "head", seq: number(head.seq), floor: number(head.floor), dropped: number(head.dropped) };
  }
  return { type: "bad" };
}

function decodeLegacy(parsed: Record<string, unknown>): Line {
  if (typeof parsed.id !== "string" || typeof parsed.text !== "string") return { type: "bad" };
  return {
    type: "entry",
    id: parsed.id,
    kind: kindOf(parsed),
    text: parsed.text,
    ts: number(parsed.ts),
    seq: 0,
    ord: undefined,
    meta0: undefined,
    was: undefined,
    legacy: true,
  };
}

/** Bytes lost between the names of seq and checksum leave one member, such as `"seqcrc":1`: no line of before Reverie. */
const ENDS_LIKE_OURS = /crc":\d+\}$/;

/** A line that is kept at the end of a log although its newline is missing. */
export function isComplete({ type }: Line): boolean {
  return type === "entry" || type === "forget" || type === "cleared" || type === "head";
}

export interface StaleEntry extends Pick<EntryLine, "id" | "text" | "ts" | "seq" | "ord" | "meta0"> {
  /** JSON object text without white space outside strings, "" for none. */
  readonly meta: string;
  /** There is a meta, but it is no JSON object. */
  readonly oddMeta: boolean;
}

/** What a stale line says now, whoever spelled it; undefined for any other line. */
export function readStale(line: Buffer): StaleEntry | undefined {
  if (decodeLine(line).type !== "stale") return undefined;
  const parsed = JSON.parse(line.toString()) as Record<string, unknown>;
  const entry = decodeLegacy(parsed);
  if (entry.type !== "entry") return undefined;
  return {
    ...entry,
    seq: number(parsed.seq),
    ord: parsed.ord === undefined ? undefined : number(parsed.ord),
    meta0: typeof parsed.meta0 === "string" && /^[0-9a-f]{16}$/.test(parsed.meta0) ? parsed.meta0 : undefined,
    meta: metaOf(line, entry),
    oddMeta: hasOddMeta(line, entry),
  };
}

/** The line ends with a checksum that is its own, spelled as we do. */
function crcHolds(line: Buffer): boolean {
  const last = line.length - 1;
  if (line[last] !== 0x7d) return false;
  let crc = 0;
  let at = last - 1;
  for (let scale = 1; at >= 0 && last - at <= MAX_CRC_DIGITS && isDigit(line[at]); at--, scale *= 10)
    crc += (line[at] - 0x30) * scale;
  const first = at + 1;
  if (first === last || (line[first] === 0x30 && first < last - 1)) return false;
  const mark = first - CRC_MARK.length;
  return mark >= 0 && line.indexOf(CRC_MARK, mark) === mark && crc === crc32(line.subarray(0, mark));
}

/** The meta of an entry line, token for token. */
export function metaOf(line: Buffer, entry: EntryLine): string {
  const text = line.toString();
  if (!entry.legacy && entry.seq > 0) {
    // Spelled by us: ids and texts can't hold these marks unescaped, and what follows meta holds no strings but meta0.
    const ts = text.indexOf(',"ts":');
    const start = text.indexOf(",", ts + 6);
    if (!text.startsWith(',"meta":', start)) return "";
    return text.slice(start + 8, text.lastIndexOf(',"seq":'));
  }
  const raw = rawMeta(text);
  return raw.startsWith("{") ? raw : "";
}

/** What stands for the meta that the entry was first sent with, whatever it was patched to. */
export function firstMetaDigest(line: Buffer, entry: EntryLine): string {
  return entry.meta0 ?? metaDigest(metaOf(line, entry));
}

/** An older writer left a meta that is no JSON object: it is not served, and nothing can be merged into it. */
export function hasOddMeta(line: Buffer, entry: EntryLine): boolean {
  if (!entry.legacy && entry.seq > 0) return false;
  const raw = rawMeta(line.toString());
  return raw !== "" && raw !== "null" && !raw.startsWith("{");
}

function rawMeta(text: string): string {
  return scanObject(text, { lenient: true }).members.findLast((member) => member.key === "meta")?.raw ?? "";
}

/** What stands for the first-sent meta in lines and hashes: 16 hexadecimal digits. */
export function metaDigest(meta: string): string {
  return createHash("sha256").update(meta).digest("hex").slice(0, 16);
}

function kindOf({ kind }: Record<string, unknown>): string | undefined {
  return typeof kind === "string" ? kind : undefined;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

function number(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(Math.trunc(value)) ? Math.trunc(value) : 0;
}

function range(value: unknown): Range | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { at, len } = value as Record<string, unknown>;
  return typeof at === "number" && typeof len === "number" ? { at, len } : undefined;
}
