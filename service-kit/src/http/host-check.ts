import { isIP } from "node:net";
import { isLoopback } from "../config/listen-address.js";

export type HostVerdict = "ok" | "malformed" | "foreign";

/** Says whether a request's Host or :authority may be served. */
export type HostCheck = (authority: string | undefined) => HostVerdict;

/**
 * On a loopback listener only loopback names, the bound host and `allowedHosts` pass: a web page whose name was made
 * to resolve to this machine (DNS rebinding) sends its own name.
 */
export function createHostCheck(boundHost: string, allowedHosts: readonly string[]): HostCheck {
  const guarded = isLoopback(boundHost);
  const allowed = new Set([boundHost, ...allowedHosts].map((host) => host.toLowerCase()));
  // Node keeps the same few authorities coming; the cache is bounded by what passes.
  const passed = new Set<string>();
  return (authority) => {
    if (authority === undefined || authority === "") return "malformed";
    if (passed.has(authority)) return "ok";
    const host = hostOf(authority);
    if (host === undefined) return "malformed";
    if (guarded && !isLoopback(host) && !allowed.has(host)) return "foreign";
    if (passed.size < 100) passed.add(authority);
    return "ok";
  };
}

function hostOf(authority: string): string | undefined {
  if (/[\s/?#@\\]/.test(authority)) return undefined;
  try {
    const name = new URL(`http://${authority}`).hostname.toLowerCase();
    const bare = name.startsWith("[") ? name.slice(1, -1) : name;
    return bare === "" || (name.startsWith("[") && isIP(bare) !== 6) ? undefined : bare;
  } catch {
    return undefined;
  }
}
