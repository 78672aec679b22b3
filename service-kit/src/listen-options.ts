import { ConfigError } from "./config/config-error.js";
import { isLoopback, type ListenAddress, parseAddress } from "./config/listen-address.js";
import { readText } from "./config/load-config.js";
import type { SharedConfig } from "./config/shared-options.js";
import { parseTokens, TokenAuth } from "./rpc/token-auth.js";
import { readTlsFiles, type TlsFiles } from "./tls-files.js";

/** Where and for whom a server listens. */
export interface ListenOptions {
  /** undefined: no native gRPC. */
  readonly grpc: ListenAddress | undefined;
  /** undefined: no Connect, gRPC-Web, /healthz and /metrics. */
  readonly http: ListenAddress | undefined;
  readonly tls: TlsFiles | undefined;
  readonly auth: TokenAuth;
  /** Host names that a loopback HTTP listener answers to besides loopback ones. */
  readonly allowedHosts: readonly string[];
  /** How long a stop waits for calls in flight, milliseconds. */
  readonly drainMs: number;
}

/** Reads the files that the config names and refuses an unsafe choice. Throws a `ConfigError`. */
export function listenOptions(config: Omit<SharedConfig, "dataDir" | "logLevel" | "logFormat">): ListenOptions {
  const grpc = config.grpcAddress === "off" ? undefined : parseAddress(config.grpcAddress);
  const http = config.httpAddress === "off" ? undefined : parseAddress(config.httpAddress);
  if (grpc === undefined && http === undefined) {
    throw new ConfigError(["grpcAddress, httpAddress: both are off; open at least one"]);
  }
  const { tokensFile } = config;
  const auth = tokensFile === undefined ? new TokenAuth() : parseTokens(readText(tokensFile, "tokensFile"), tokensFile);
  const tls = readTlsFiles(config.tlsCertFile, config.tlsKeyFile);
  const problems = [
    exposure("grpcAddress", config.grpcAddress, grpc, tls, auth),
    exposure("httpAddress", config.httpAddress, http, tls, auth),
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0 && !config.insecure) throw new ConfigError(problems);
  return { grpc, http, tls, auth, allowedHosts: config.httpAllowedHosts, drainMs: config.drainMs };
}

function exposure(
  key: string,
  text: string,
  address: ListenAddress | undefined,
  tls: TlsFiles | undefined,
  auth: TokenAuth,
): string | undefined {
  if (address === undefined || isLoopback(address.host) || (tls !== undefined && auth.required)) return undefined;
  const missing = [tls === undefined ? "tlsCertFile and tlsKeyFile" : "", auth.required ? "" : "tokensFile"];
  return (
    `${key}: ${text} can be reached from other machines. Set ${missing.filter((key) => key !== "").join(", ")}, ` +
    "or listen on 127.0.0.1, or accept the risk with --insecure"
  );
}
