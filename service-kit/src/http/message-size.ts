import { create, type DescMessage, isMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { messageTooLarge } from "../errors/normalize-error.js";
import { MAX_MESSAGE_BYTES } from "../rpc/limits.js";

/**
 * Throws MESSAGE_TOO_LARGE. Connect would notice while it serializes, too late to say more than a code, so messages
 * that may be too large are serialized once before.
 */
export function checkResponseSize(schema: DescMessage, response: unknown): void {
  if (sizeAtMost(response) <= MAX_MESSAGE_BYTES) return;
  const message = response as Message;
  const bytes = toBinary(schema, isMessage(message, schema) ? message : create(schema, message));
  if (bytes.length > MAX_MESSAGE_BYTES) throw messageTooLarge("response", MAX_MESSAGE_BYTES);
}

function sizeAtMost(value: unknown): number {
  if (typeof value === "string") return value.length * 3 + 12;
  if (typeof value !== "object" || value === null) return 12;
  if (value instanceof Uint8Array) return value.length + 12;
  let size = 12;
  for (const part of Object.values(value)) size += sizeAtMost(part);
  return size;
}
