import { ReverieError } from "./errors.js";

/** Where a server is. */
export interface Endpoint {
  /** `host:port` as shown in messages. */
  readonly target: string;
  readonly secure: boolean;
  /** The host is this machine. */
  readonly loopback: boolean;
}

/** TLS with the system's certificate authorities unless told otherwise. All PEM. */
export interface TlsOptions {
  /** Certificate authorities to trust instead of the system's. */
  readonly ca?: string | Uint8Array;
  /** The client's own certificate chain, for mutual TLS; with `key`. */
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  /** The name that the server's certificate must carry, where it isn't the address's host. */
  readonly serverName?: string;
}

const HOST_PORT = /^(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})$/;

/**
 * Reads `host:port`, `http://host:port` or `https://host:port`; IPv6 hosts in brackets. `tls` makes `host:port` secure.
 * Throws ADDRESS_INVALID for anything else.
 */
export function parseAddress(address: string, tls: boolean): Endpoint {
  const wrong = (why: string) =>
    new ReverieError(
      "INVALID_ARGUMENT",
      "ADDRESS_INVALID",
      `The address ${JSON.stringify(address)} ${why}. Give host:port, such as "127.0.0.1:50051", or https://host:port.`,
    );
  if (typeof address !== "string") throw wrong("is no string");
  const url = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(.*)$/s.exec(address);
  const scheme = url?.[1]?.toLowerCase();
  if (url && scheme !== "http" && scheme !== "https") throw wrong(`has the unknown scheme ${scheme}://`);
  if (scheme === "http" && tls) throw wrong("says http:// but tls is set");
  const rest = url ? (url[2] as string).replace(/\/$/, "") : address;
  if (/[/?#@]/.test(rest)) throw wrong("holds more than a host and a port");
  const match = HOST_PORT.exec(rest);
  if (!match) {
    if (/^[^:]*:[^:]*:/.test(rest) && !rest.startsWith("[")) throw wrong("holds an IPv6 host without brackets");
    throw wrong(rest.includes(":") ? "has no valid host and port" : "has no port");
  }
  const host = match[1] as string;
  const port = Number(match[2]);
  if (port < 1 || port > 65_535) throw wrong("has a port outside 1 to 65535");
  return { target: `${host}:${port}`, secure: tls || scheme === "https", loopback: isLoopback(host) };
}

function isLoopback(host: string): boolean {
  return host.toLowerCase() === "localhost" || host === "[::1]" || /^127(\.[0-9]{1,3}){3}$/.test(host);
}
