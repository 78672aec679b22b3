import type { DescMessage, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import type { UnaryResponse } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Metadata, StatusObject } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import type { CallSlot } from "./call.js";
import { abortError, encode, listen } from "./call.js";
import { toHeaders } from "./metadata.js";
import { errorFromStatus } from "./status.js";

/** Most callers read the message only: headers are converted when asked for. */
class LazyResponse<I extends DescMessage, O extends DescMessage> implements UnaryResponse<I, O> {
  readonly stream = false;
  readonly #header: Metadata | undefined;
  readonly #trailer: Metadata;

  constructor(
    readonly method: DescMethodUnary<I, O>,
    readonly message: MessageShape<O>,
    header: Metadata | undefined,
    trailer: Metadata,
  ) {
    this.#header = header;
    this.#trailer = trailer;
  }

  get service() {
    return this.method.parent;
  }
  get header(): Headers {
    return toHeaders(this.#header);
  }
  get trailer(): Headers {
    return toHeaders(this.#trailer);
  }
}

/** One unary call. Rejects with a ConnectError. */
export function runUnary<I extends DescMessage, O extends DescMessage>(
  slot: CallSlot,
  method: DescMethodUnary<I, O>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  metadata: Metadata,
  input: MessageShape<I>,
): Promise<UnaryResponse<I, O>> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) throw abortError(signal);
    const bytes = encode(method, input);
    const call = slot.create(method, timeoutMs);
    let header: Metadata | undefined;
    let message: MessageShape<O> | undefined;
    let failure: ConnectError | undefined;
    const fail = (error: ConnectError) => {
      failure ??= error;
      call.cancelWithStatus(status.CANCELLED, error.rawMessage);
    };
    const unlisten = listen(signal, () => fail(abortError(signal as AbortSignal)));
    call.start(metadata, {
      onReceiveMetadata(received) {
        header = received;
      },
      onReceiveMessage(body: Buffer) {
        if (message !== undefined) return fail(new ConnectError("the server answered twice", Code.Internal));
        try {
          message = fromBinary(method.output, body);
        } catch (cause) {
          return fail(undecodable(method.output, cause));
        }
        call.startRead();
      },
      onReceiveStatus(end: StatusObject) {
        unlisten();
        slot.done(call);
        if (failure !== undefined) reject(failure);
        else if (end.code !== status.OK) reject(errorFromStatus(end));
        else if (message === undefined) reject(new ConnectError("the server sent no answer", Code.Internal));
        else resolve(new LazyResponse(method, message, header, end.metadata));
      },
    });
    call.startRead();
    call.sendMessageWithContext({}, bytes);
    call.halfClose();
  });
}

export function undecodable(schema: DescMessage, cause: unknown): ConnectError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ConnectError(
    `the server's ${schema.name} can't be decoded: ${why}`,
    Code.Internal,
    undefined,
    undefined,
    cause,
  );
}
