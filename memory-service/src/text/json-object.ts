/** Which rule of meta a text breaks: the metadata `rule` of META_INVALID. */
export type JsonRule = "syntax" | "object" | "depth" | "duplicate_key" | "size";

export class JsonObjectError extends Error {
  override readonly name = "JsonObjectError";
  readonly rule: JsonRule;

  constructor(rule: JsonRule, message: string) {
    super(message);
    this.rule = rule;
  }
}

export interface JsonMember {
  /** Decoded. */
  readonly key: string;
  /** As written, with its quotes. */
  readonly rawKey: string;
  /** The value token for token, without white space outside strings. */
  readonly raw: string;
}

export interface ScanOptions {
  /** How deep it may nest; the object itself is depth 1. Default 32. */
  readonly maxDepth?: number;
  /** For lines of older writers: any depth; a repeated key is allowed and its last value counts. Default false. */
  readonly lenient?: boolean;
}

const DEFAULT_MAX_DEPTH = 32;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LITERAL = /true|false|null/y;
const HEX4 = /[0-9a-fA-F]{4}/y;
// Where a string ends or needs a closer look: a quote, a backslash, a control character.
const STOP = /[^ !#-[\]-\uffff]/g;
const SHORT_STRING = 16;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const SMALL_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function nextStop(text: string, from: number): number {
  STOP.lastIndex = from;
  return STOP.test(text) ? STOP.lastIndex - 1 : text.length;
}

/** The keys seen in one object; a list while they are few. */
class KeySet {
  private readonly list: string[] = [];
  private set: Set<string> | undefined;

  /** False when the key was there already. */
  add(key: string): boolean {
    if (this.set !== undefined) return this.set.size !== this.set.add(key).size;
    if (this.list.includes(key)) return false;
    this.list.push(key);
    if (this.list.length === 16) this.set = new Set(this.list);
    return true;
  }
}

/** One pass over the text, with its own stack: nesting costs memory and no call depth. */
class Scanner {
  readonly members: JsonMember[] = [];
  /** No white space stood outside strings. */
  compact = true;
  private readonly text: string;
  private readonly maxDepth: number;
  private readonly lenient: boolean;
  private pos = 0;
  // The value of the present member is `head` and what stands from `from` on.
  private head = "";
  private from = 0;
  // Of every open container its keys, or undefined for an array.
  private readonly open: (KeySet | undefined)[] = [];
  private key = "";
  private rawKey = "";

  constructor(text: string, options: ScanOptions) {
    this.text = text;
    this.lenient = options.lenient === true;
    this.maxDepth = this.lenient ? Number.POSITIVE_INFINITY : (options.maxDepth ?? DEFAULT_MAX_DEPTH);
  }

  run(): void {
    if (this.next() !== OPEN_OBJECT) throw this.notAnObject();
    this.enter(OPEN_OBJECT);
    if (this.next() === CLOSE_OBJECT) this.leave();
    else this.readKey();
    while (this.open.length > 0) this.value();
    if (!Number.isNaN(this.next())) throw this.syntax();
  }

  /** Reads one value; of a container only its opening, and then all that follows until the next value begins. */
  private value(): void {
    const code = this.next();
    if (this.open.length === 1) {
      this.head = "";
      this.from = this.pos;
    }
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      this.enter(code);
      const first = this.next();
      if (first !== (code === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        if (code === OPEN_OBJECT) this.readKey();
        return;
      }
      this.leave();
    } else if (code === QUOTE) this.skipString();
    else this.skipToken(code === 0x74 || code === 0x66 || code === 0x6e ? LITERAL : NUMBER);
    this.afterValue();
  }

  private afterValue(): void {
    for (;;) {
      const depth = this.open.length;
      if (depth === 0) return;
      if (depth === 1) this.endMember();
      const keys = this.open[depth - 1];
      const code = this.next();
      if (code === COMMA) {
        this.pos++;
        if (keys !== undefined) this.readKey();
        return;
      }
      if (code !== (keys === undefined ? CLOSE_ARRAY : CLOSE_OBJECT)) throw this.syntax();
      this.leave();
    }
  }

  private endMember(): void {
    const tail = this.text.slice(this.from, this.pos);
    this.members.push({ key: this.key, rawKey: this.rawKey, raw: this.head === "" ? tail : this.head + tail });
  }

  private enter(code: number): void {
    if (this.open.length >= this.maxDepth) {
      throw new JsonObjectError(
        "depth",
        `must nest at most ${this.maxDepth} levels deep (the object itself is level 1)`,
      );
    }
    this.open.push(code === OPEN_OBJECT ? new KeySet() : undefined);
    this.pos++;
  }

  private leave(): void {
    this.open.pop();
    this.pos++;
  }

  private readKey(): void {
    if (this.next() !== QUOTE) throw this.syntax();
    const start = this.pos;
    const escaped = this.skipString();
    const depth = this.open.length;
    if (!this.lenient || depth === 1) {
      const rawKey = this.text.slice(start, this.pos);
      const key = escaped ? (JSON.parse(rawKey) as string) : rawKey.slice(1, -1);
      if (!this.lenient && this.open[depth - 1]?.add(key) === false) {
        const shown = rawKey.length > 80 ? `${rawKey.slice(0, 79).toWellFormed()}…` : rawKey;
        throw new JsonObjectError("duplicate_key", `holds the key ${shown} twice in one object; send it once`);
      }
      if (depth === 1) {
        this.key = key;
        this.rawKey = rawKey;
      }
    }
    if (this.next() !== COLON) throw this.syntax();
    this.pos++;
  }

  /** Steps over a string and says whether it holds an escape. */
  private skipString(): boolean {
    const text = this.text;
    let escaped = false;
    let i = this.pos + 1;
    for (let looked = 0; ; looked++) {
      // Native search pays only for what is longer than most keys.
      if (looked >= SHORT_STRING) i = nextStop(text, i);
      const code = text.charCodeAt(i);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        escaped = true;
        i = this.skipEscape(i + 1);
        continue;
      }
      // Also false for the NaN behind the end.
      if (!(code >= 0x20)) throw this.syntax(i);
      i++;
    }
    this.pos = i + 1;
    return escaped;
  }

  private skipEscape(at: number): number {
    const code = this.text.charCodeAt(at);
    if (code === SMALL_U) {
      HEX4.lastIndex = at + 1;
      if (!HEX4.test(this.text)) throw this.syntax(at - 1);
      return at + 5;
    }
    // " / \ b f n r t
    const known = code === 0x22 || code === 0x2f || code === 0x5c || code === 0x62;
    if (!known && code !== 0x66 && code !== 0x6e && code !== 0x72 && code !== 0x74) throw this.syntax(at - 1);
    return at + 1;
  }

  private skipToken(token: RegExp): void {
    token.lastIndex = this.pos;
    if (!token.test(this.text)) throw this.syntax();
    this.pos = token.lastIndex;
  }

  /** The code of the next character that is no white space; NaN at the end. */
  private next(): number {
    const code = this.text.charCodeAt(this.pos);
    return code > 0x20 ? code : this.skipSpace();
  }

  private skipSpace(): number {
    const text = this.text;
    let i = this.pos;
    let code = text.charCodeAt(i);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++i);
    if (i > this.pos) {
      this.head += text.slice(this.from, this.pos);
      this.from = i;
      this.pos = i;
      this.compact = false;
    }
    return code;
  }

  private notAnObject(): JsonObjectError {
    try {
      JSON.parse(this.text);
    } catch {
      return this.syntax();
    }
    return new JsonObjectError("object", "is no JSON object; send { … }");
  }

  private syntax(at = this.pos): JsonObjectError {
    return new JsonObjectError("syntax", `is not valid JSON at character ${at}; send one JSON object`);
  }
}

function scan(text: string, options: ScanOptions): Scanner {
  if (!text.isWellFormed()) {
    throw new JsonObjectError("syntax", "holds a lone surrogate, which UTF-8 can't carry; escape it as \\ud800");
  }
  const scanner = new Scanner(text, options);
  scanner.run();
  return scanner;
}

/**
 * Reads the text of one JSON object (RFC 8259) and keeps its tokens as they are written: numbers and escapes are not
 * touched. Refuses a key that comes twice in one object, at any level. Throws JsonObjectError.
 */
export function scanObject(text: string, options: ScanOptions = {}): { members: JsonMember[] } {
  const { members } = scan(text, options);
  if (options.lenient !== true) return { members };
  const last = new Map<string, JsonMember>();
  for (const member of members) last.set(member.key, member);
  return { members: last.size === members.length ? members : [...last.values()] };
}

/** The same object without white space outside strings, otherwise token for token. Throws JsonObjectError. */
export function minifyObject(text: string, options: ScanOptions = {}): string {
  const { members, compact } = scan(text, options);
  return compact ? text : joinMembers(members);
}

/** The text of an object with these members. */
export function joinMembers(members: readonly JsonMember[]): string {
  let text = "{";
  for (const { rawKey, raw } of members) text += `${text.length > 1 ? "," : ""}${rawKey}:${raw}`;
  return `${text}}`;
}
