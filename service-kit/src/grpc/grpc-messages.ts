import { create, type DescMessage, fromBinary, isMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { messageTooLarge } from "../errors/normalize-error.js";
import { MAX_MESSAGE_BYTES } from "../rpc/limits.js";
import { undecodable, validateRequest } from "../rpc/request-validator.js";

/** A valid message, or FIELD_INVALID. */
export function decodeRequest(schema: DescMessage, bytes: Buffer): Message {
  let message: Message;
  try {
    message = fromBinary(schema, bytes);
  } catch (error) {
    throw undecodable(error);
  }
  validateRequest(schema, message);
  return message;
}

/** Takes a message or what makes one; throws MESSAGE_TOO_LARGE. */
export function encodeResponse(schema: DescMessage, message: Message): Buffer {
  const bytes = toBinary(schema, isMessage(message, schema) ? message : create(schema, message));
  if (bytes.length > MAX_MESSAGE_BYTES) throw messageTooLarge("response", MAX_MESSAGE_BYTES);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
