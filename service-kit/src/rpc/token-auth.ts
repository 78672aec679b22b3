import { createHash, timingSafeEqual } from "node:crypto";
import { ConfigError } from "../config/config-error.js";
import { ReverieError } from "../errors.js";

interface KnownToken {
  readonly name: string;
  readonly digest: Buffer;
}

/** Who may call: anyone, when no tokens are configured. */
export class TokenAuth {
  readonly #tokens: readonly KnownToken[];

  constructor(tokens: readonly KnownToken[] = []) {
    this.#tokens = tokens;
  }

  get required(): boolean {
    return this.#tokens.length > 0;
  }

  /** Returns the token's name; throws UNAUTHENTICATED. */
  check(authorization: string | null | undefined): string {
    if (!this.required) return "";
    const token = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) {
      throw new ReverieError("UNAUTHENTICATED", "Send metadata authorization: Bearer <token>.");
    }
    const digest = sha256(token);
    let name: string | undefined;
    // No early exit: the time taken says nothing about which tokens exist.
    for (const known of this.#tokens) if (timingSafeEqual(known.digest, digest)) name = known.name;
    if (name === undefined) throw new ReverieError("UNAUTHENTICATED", "This service doesn't know the bearer token.");
    return name;
  }
}

/** One `token` or `name:token` a line; `#` begins a comment line. Messages never quote a token. */
export function parseTokens(text: string, path: string): TokenAuth {
  const problems: string[] = [];
  const tokens: KnownToken[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const colon = line.indexOf(":");
    const name = colon < 0 ? `token-${index + 1}` : line.slice(0, colon).trim();
    const token = line.slice(colon + 1).trim();
    if (/\s/.test(token)) problems.push(`tokens file ${path} line ${index + 1}: a token holds no white space`);
    else if (token.length < 16) {
      problems.push(
        `tokens file ${path} line ${index + 1}: a token has 16 characters or more; try openssl rand -hex 32`,
      );
    } else tokens.push({ name, digest: sha256(token) });
  }
  if (problems.length === 0 && tokens.length === 0) problems.push(`tokens file ${path}: holds no token`);
  if (problems.length > 0) throw new ConfigError(problems);
  return new TokenAuth(tokens);
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}
