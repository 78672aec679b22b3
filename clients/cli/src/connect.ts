import { readFileSync } from "node:fs";
import { createMemoryClient, type MemoryClient } from "@reverie/client";
import { fileError, usageError } from "./cli-error.js";

export interface ConnectionOptions {
  readonly address: string;
  readonly tokenFile?: string;
  readonly tls?: boolean;
  readonly tlsCa?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsServerName?: string;
  readonly insecure?: boolean;
  /** Milliseconds. */
  readonly timeout?: number;
}

/** Waits a second or so for a service that isn't there: long enough for a hiccup, short enough for a person. */
const MAX_ATTEMPTS = 5;

export function connect(options: ConnectionOptions): MemoryClient {
  const token = readToken(options.tokenFile);
  const tls = tlsOptions(options);
  return createMemoryClient({
    address: options.address,
    ...(token !== undefined && { token }),
    ...(tls !== undefined && { tls }),
    ...(options.insecure && { insecure: true }),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
    retry: { maxAttempts: MAX_ATTEMPTS },
  });
}

function tlsOptions({ tls, tlsCa, tlsCert, tlsKey, tlsServerName }: ConnectionOptions) {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw usageError("--tls-cert and --tls-key go together.", "Give both, or none.");
  }
  if (tlsCa === undefined && tlsCert === undefined && tlsServerName === undefined) return tls;
  return {
    ...(tlsCa !== undefined && { ca: readOption("--tls-ca", tlsCa) }),
    ...(tlsCert !== undefined && { cert: readOption("--tls-cert", tlsCert) }),
    ...(tlsKey !== undefined && { key: readOption("--tls-key", tlsKey) }),
    ...(tlsServerName !== undefined && { serverName: tlsServerName }),
  };
}

/** The first token of the file, alone or as `name:token`, so that the service's own file does; else REVERIE_TOKEN. */
function readToken(file: string | undefined): string | undefined {
  if (file === undefined) return process.env.REVERIE_TOKEN || undefined;
  const line = readOption("--token-file", file)
    .split(/\r?\n/)
    .map((text) => text.trim())
    .find((text) => text !== "" && !text.startsWith("#"));
  if (line === undefined)
    throw usageError("The file of --token-file holds no token.", "Put the token on its first line.");
  return line.slice(line.indexOf(":") + 1).trim();
}

function readOption(option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw fileError(`Can't read the file of ${option}`, error);
  }
}
