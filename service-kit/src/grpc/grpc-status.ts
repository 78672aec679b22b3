import type { DescMessage } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { Metadata, type StatusObject } from "@grpc/grpc-js";
import { type PackedDetail, statusBytes } from "../errors/error-details.js";
import { cancelled, deadlineExceeded, messageTooLarge } from "../errors/normalize-error.js";
import { ReverieError } from "../errors.js";
import { MAX_MESSAGE_BYTES } from "../rpc/limits.js";
import { undecodable } from "../rpc/request-validator.js";

export type GrpcStatus = Pick<StatusObject, "code" | "details" | "metadata">;

export function grpcStatus(error: ConnectError): GrpcStatus {
  const details: PackedDetail[] = [];
  for (const detail of error.details) {
    if ("desc" in detail) {
      const desc: DescMessage = detail.desc;
      details.push({ desc, value: create(desc, detail.value) });
    }
  }
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", statusBytes(error.code, error.rawMessage, details));
  return { code: error.code as number, details: error.rawMessage, metadata };
}

/** What grpc-js itself ends a call with, in our terms. */
export function libraryError(code: number, details: string): ReverieError {
  switch (code) {
    case Code.DeadlineExceeded:
      return deadlineExceeded();
    case Code.ResourceExhausted:
      return messageTooLarge("request", MAX_MESSAGE_BYTES);
    case Code.Unimplemented:
      return new ReverieError("UNIMPLEMENTED", details);
    case Code.Internal:
      // A response that can't be written has lost its reader.
      return details.includes("decompress") ? undecodable(details) : cancelled();
    default:
      return cancelled();
  }
}
