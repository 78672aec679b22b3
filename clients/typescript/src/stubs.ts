import type { DescService } from "@bufbuild/protobuf";
import type { CallOptions, Client, Transport } from "@connectrpc/connect";
import { createClient, makeAnyClient } from "@connectrpc/connect";

/**
 * A Connect client, except that leaving a response stream early (`break`, `return`) ends the call. Connect's own hides
 * `return` from its callers, so that a stream left behind stays open and counts against the connection's 100.
 * A stream's call starts with the first read.
 */
export function createStub<S extends DescService>(service: S, transport: Transport): Client<S> {
  const plain = createClient(service, transport) as Record<string, unknown>;
  return makeAnyClient(service, (method) => {
    if (method.methodKind === "server_streaming") {
      return (input, options) => read(input, options);
      async function* read(...[input, options]: Parameters<ServerStreaming>): ReturnType<ServerStreaming> {
        const { signal, timeoutMs, headers, contextValues } = options ?? {};
        const response = await transport.stream(
          method as never,
          signal,
          timeoutMs,
          headers,
          once(input) as never,
          contextValues,
        );
        options?.onHeader?.(response.header);
        yield* response.message;
        options?.onTrailer?.(response.trailer);
      }
    }
    return plain[method.localName] as never;
  }) as Client<S>;
}

type ServerStreaming = (input: unknown, options?: CallOptions) => AsyncGenerator<unknown, void, undefined>;

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}
