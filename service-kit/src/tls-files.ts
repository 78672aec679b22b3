import { createSecureContext, type SecureContextOptions } from "node:tls";
import { ConfigError } from "./config/config-error.js";
import { readText } from "./config/load-config.js";

/** PEM texts. */
export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** undefined when TLS is not configured. */
export function readTlsFiles(certFile: string | undefined, keyFile: string | undefined): TlsFiles | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    const missing = certFile === undefined ? "tlsCertFile" : "tlsKeyFile";
    throw new ConfigError([`${missing}: is missing; TLS needs tlsCertFile and tlsKeyFile`]);
  }
  const cert = Buffer.from(readText(certFile, "tlsCertFile"));
  const key = Buffer.from(readText(keyFile, "tlsKeyFile"));
  tryOut({ cert }, `tlsCertFile ${certFile}: is no PEM certificate`);
  tryOut({ key }, `tlsKeyFile ${keyFile}: is no PEM private key without a passphrase`);
  tryOut({ cert, key }, `tlsKeyFile ${keyFile}: is not the key of the certificate in ${certFile}`);
  return { cert, key };
}

/** The listeners would find out too, but with a stack. */
function tryOut(options: SecureContextOptions, problem: string): void {
  try {
    createSecureContext(options);
  } catch (error) {
    const reason = error instanceof Error && "reason" in error ? ` (${String(error.reason)})` : "";
    throw new ConfigError([`${problem}${reason}`]);
  }
}
