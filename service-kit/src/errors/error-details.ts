import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema, StatusSchema } from "@reverie/proto/rpc";
import type { FieldViolation, ReverieError } from "../errors.js";
import { boundedText } from "./bounded-text.js";

export const ERROR_DOMAIN = "reverie";
/** Bytes of UTF-8. */
export const MAX_MESSAGE_BYTES = 1024;
/** Bytes of all packed details of one error. */
const MAX_DETAILS_BYTES = 4096;

const MAX_METADATA_BYTES = 1536;
const MAX_METADATA_VALUE_BYTES = 512;
const MAX_FIELD_BYTES = 256;
const MAX_DESCRIPTION_BYTES = 512;
// Type URLs, lengths and tags of up to three details.
const PACKING_BYTES = 256;

export interface PackedDetail<Desc extends DescMessage = DescMessage> {
  readonly desc: Desc;
  readonly value: MessageShape<Desc>;
}

/** ErrorInfo, then BadRequest and RetryInfo where the error has them; cut to fit `MAX_DETAILS_BYTES`. */
export function errorDetails(error: ReverieError): PackedDetail[] {
  const violations = boundedViolations(error.violations, MAX_DETAILS_BYTES - PACKING_BYTES - MAX_METADATA_BYTES);
  const metadata = boundedMetadata(error.metadata);
  const omitted = error.violations.length - violations.length;
  if (omitted > 0) metadata.violations_omitted = String(omitted);
  const details: PackedDetail[] = [
    { desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason: error.reason, domain: ERROR_DOMAIN, metadata }) },
  ];
  if (violations.length > 0) {
    details.push({ desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations: violations }) });
  }
  if (error.retryAfterMs !== undefined) details.push({ desc: RetryInfoSchema, value: retryInfo(error.retryAfterMs) });
  return details;
}

/** The bytes of `grpc-status-details-bin`. */
export function statusBytes(code: number, message: string, details: readonly PackedDetail[]): Buffer {
  const packed: Any[] = details.map((detail) => anyPack(detail.desc, detail.value));
  const bytes = toBinary(StatusSchema, create(StatusSchema, { code, message, details: packed }));
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function retryInfo(retryAfterMs: number): MessageShape<typeof RetryInfoSchema> {
  const ms = Math.max(0, Math.round(retryAfterMs));
  return create(RetryInfoSchema, {
    retryDelay: { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 },
  });
}

function boundedMetadata(metadata: Readonly<Record<string, string>>): Record<string, string> {
  const result: Record<string, string> = {};
  let bytes = 0;
  for (const [key, raw] of Object.entries(metadata)) {
    const name = boundedText(key, 64);
    const value = boundedText(raw, MAX_METADATA_VALUE_BYTES);
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + 8;
    if (bytes > MAX_METADATA_BYTES) break;
    result[name] = value;
  }
  return result;
}

function boundedViolations(violations: readonly FieldViolation[], maxBytes: number): FieldViolation[] {
  const result: FieldViolation[] = [];
  let bytes = 0;
  for (const violation of violations) {
    const field = boundedText(violation.field, MAX_FIELD_BYTES);
    const description = boundedText(violation.description, MAX_DESCRIPTION_BYTES);
    bytes += Buffer.byteLength(field) + Buffer.byteLength(description) + 12;
    if (bytes > maxBytes) break;
    result.push({ field, description });
  }
  return result;
}
