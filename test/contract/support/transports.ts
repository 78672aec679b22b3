import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { grpcJsTransport, parseAddress } from "@reverie/client";
import type { ContractServer } from "./contract-server.js";

export interface OpenTransport extends Transport {
  close(): void;
}

/**
 * The ways to call a service, over both listeners and both versions of HTTP. None is excused from any case: Connect's
 * transports for Node stream requests over HTTP/1.1 too, which a browser's fetch can't. Where the *client* half of a
 * transport gets in the way of what a case must send, the case says so: grpc-js's refuses large messages by itself.
 */
export interface ContractTransport {
  readonly name: "grpc-js" | "connect" | "grpc-web" | "connect-json";
  /** The header that carries a call's deadline; grpc-js makes its own. */
  readonly timeoutHeader: { readonly name: string; of(ms: number): string };
  open(server: Addresses, headers?: Readonly<Record<string, string>>): OpenTransport;
}

export type Addresses = Pick<ContractServer, "grpc" | "http">;

const grpcTimeout = { name: "grpc-timeout", of: (ms: number) => `${ms}m` };
const connectTimeout = { name: "connect-timeout-ms", of: (ms: number) => String(ms) };

export const transports: readonly ContractTransport[] = [
  {
    name: "grpc-js",
    timeoutHeader: grpcTimeout,
    open: ({ grpc }, headers = {}) => grpcJsTransport({ endpoint: parseAddress(grpc, false), headers }),
  },
  {
    name: "connect",
    timeoutHeader: connectTimeout,
    open: ({ http }, headers) =>
      connectNode(
        createConnectTransport({
          baseUrl: `http://${http}`,
          httpVersion: "2",
          useBinaryFormat: true,
          interceptors: sending(headers),
        }),
      ),
  },
  {
    name: "grpc-web",
    timeoutHeader: grpcTimeout,
    open: ({ http }, headers) =>
      connectNode(
        createGrpcWebTransport({
          baseUrl: `http://${http}`,
          httpVersion: "1.1",
          useBinaryFormat: true,
          interceptors: sending(headers),
        }),
      ),
  },
  {
    name: "connect-json",
    timeoutHeader: connectTimeout,
    open: ({ http }, headers) =>
      connectNode(
        createConnectTransport({
          baseUrl: `http://${http}`,
          httpVersion: "1.1",
          useBinaryFormat: false,
          interceptors: sending(headers),
        }),
      ),
  },
];

function connectNode(transport: Transport): OpenTransport {
  return { unary: transport.unary, stream: transport.stream, close: () => {} };
}

function sending(headers: Readonly<Record<string, string>> = {}): Interceptor[] {
  return [
    (next) => (request) => {
      for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
      return next(request);
    },
  ];
}
