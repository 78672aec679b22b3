import { createHmac, timingSafeEqual } from "node:crypto";
import { ReverieError } from "@reverie/service-kit/errors";
import { KINDS, type Kind, type OwnerKind, type OwnerRef, type Position } from "../store/store.js";

// A token is base64url of: 1 byte format, the position, 16 bytes of HMAC-SHA-256 over what the token is for and the
// bytes before. The data directory keeps the key, so tokens outlive the process and serve no other root.
const ENTRY_FORMAT = 1;
const OWNER_FORMAT = 2;
const MAC_BYTES = 16;
const POSITION_BYTES = 17;

/** What a token of a listing is good for: nothing else. */
export interface ListScope {
  readonly owner: OwnerRef;
  /** As asked for. */
  readonly kinds: readonly Kind[];
  readonly order: "newest" | "oldest";
}

function invalid(): ReverieError {
  return new ReverieError(
    "PAGE_TOKEN_INVALID",
    "the page token is not one of ours or belongs to another listing; start again without a token",
  );
}

function mac(secret: Uint8Array, scope: readonly string[], body: Uint8Array): Buffer {
  const hmac = createHmac("sha256", secret);
  hmac.update(JSON.stringify(scope)).update("\0").update(body);
  return hmac.digest().subarray(0, MAC_BYTES);
}

function seal(secret: Uint8Array, scope: readonly string[], body: Uint8Array): string {
  return Buffer.concat([body, mac(secret, scope, body)]).toString("base64url");
}

function unseal(secret: Uint8Array, scope: readonly string[], format: number, token: string): Buffer {
  const bytes = Buffer.from(token, "base64url");
  const end = bytes.length - MAC_BYTES;
  // Decoding skips what is no base64url; such a token is not ours.
  if (end < 1 || bytes.toString("base64url") !== token) throw invalid();
  const body = bytes.subarray(0, end);
  if (!timingSafeEqual(mac(secret, scope, body), bytes.subarray(end)) || body[0] !== format) throw invalid();
  return body.subarray(1);
}

function listScope({ owner, kinds, order }: ListScope): string[] {
  return ["entries", owner.kind, owner.id, order, ...KINDS.filter((kind) => kinds.includes(kind))];
}

export function sealPosition(secret: Uint8Array, scope: ListScope, position: Position): string {
  const body = Buffer.alloc(1 + POSITION_BYTES);
  body[0] = ENTRY_FORMAT;
  body.writeDoubleBE(position.ts, 1);
  body.writeDoubleBE(position.ord, 9);
  body[17] = KINDS.indexOf(position.kind);
  return seal(secret, listScope(scope), body);
}

/** Where the next page begins; PAGE_TOKEN_INVALID when the token was not made for this listing. */
export function unsealPosition(secret: Uint8Array, scope: ListScope, token: string): Position {
  const body = unseal(secret, listScope(scope), ENTRY_FORMAT, token);
  const kind = KINDS[body[16] ?? -1];
  if (body.length !== POSITION_BYTES || kind === undefined) throw invalid();
  return { ts: body.readDoubleBE(0), ord: body.readDoubleBE(8), kind };
}

export function sealOwnerId(secret: Uint8Array, kind: OwnerKind, afterId: string): string {
  return seal(secret, ["owners", kind], Buffer.concat([Buffer.of(OWNER_FORMAT), Buffer.from(afterId)]));
}

/** The last id of the page before; PAGE_TOKEN_INVALID when the token was not made for owners of this kind. */
export function unsealOwnerId(secret: Uint8Array, kind: OwnerKind, token: string): string {
  return unseal(secret, ["owners", kind], OWNER_FORMAT, token).toString("utf8");
}
