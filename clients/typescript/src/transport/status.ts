import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { StatusObject } from "@grpc/grpc-js";
import { StatusSchema } from "@reverie/proto/rpc";
import { toHeaders } from "./metadata.js";

const DETAILS_KEY = "grpc-status-details-bin";

// grpc-js decodes `grpc-message` with decodeURI, which leaves the escapes of these reserved characters in place ...
const RESERVED = /%(?:2[3464bcfBCF]|3[abdfABDF]|40)/g;
// ... and gives up on the whole text when one escape is malformed, so that UTF-8 sequences stay escaped too.
const NON_ASCII = /(?:%[89a-fA-F][0-9a-fA-F])+/g;

/** Finishes the percent-decoding of a `grpc-message` that grpc-js left half done. Never throws. */
export function decodeGrpcMessage(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(RESERVED, decodeURIComponent).replace(NON_ASCII, (run) => {
    try {
      return decodeURIComponent(run);
    } catch {
      return run;
    }
  });
}

// grpc-js's words for a stream that was reset without a status. Our own cancels never get here, so that it was the peer
// or the network: a lost connection, whatever status grpc-js derives from the reset's code.
const RESET = /^(?:Call cancelled$|Received RST_STREAM with code (?:0|8|2 triggered by internal client error)\b)/;

/** A grpc-js status other than OK as a ConnectError: exact message and details where the server sent rich ones. */
export function errorFromStatus(status: StatusObject): ConnectError {
  const code = status.code in Code ? (status.code as number as Code) : Code.Unknown;
  const bytes = status.metadata.get(DETAILS_KEY)[0];
  if (bytes !== undefined && typeof bytes !== "string") {
    try {
      const rich = fromBinary(StatusSchema, bytes);
      const error = new ConnectError(
        rich.message || decodeGrpcMessage(status.details),
        code,
        toHeaders(status.metadata),
      );
      error.details = rich.details.map((any) => ({
        type: any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1),
        value: any.value,
      }));
      return error;
    } catch {
      // Undecodable details are worth less than the status itself: go on without them.
    }
  }
  if ((code === Code.Canceled || code === Code.Internal) && RESET.test(status.details)) {
    return new ConnectError(`the call was reset: ${status.details}`, Code.Unavailable);
  }
  return new ConnectError(decodeGrpcMessage(status.details), code, toHeaders(status.metadata));
}
