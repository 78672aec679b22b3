import { isIP } from "node:net";

/** Where to listen. */
export interface ListenAddress {
  /** A name or an address; IPv6 without brackets. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** `host:port` or `[v6]:port`; undefined when it is neither. */
export function parseAddress(text: string): ListenAddress | undefined {
  const match = /^(?:\[([0-9a-fA-F:.%]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const [, v6, name, portText] = match;
  const port = Number(portText);
  if (port > 65_535 || (v6 !== undefined && isIP(v6) !== 6)) return undefined;
  return { host: v6 ?? name ?? "", port };
}

export function formatAddress(address: ListenAddress): string {
  return address.host.includes(":") ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

/** Reachable from this machine only. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost") || name === "::1") return true;
  return isIP(name) === 4 && name.startsWith("127.");
}
