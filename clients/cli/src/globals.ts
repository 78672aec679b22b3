import { type Command, Option } from "commander";
import type { ConnectionOptions } from "./connect.js";
import { parseDuration } from "./values.js";

/** The options that every command takes. */
export interface GlobalOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly table?: boolean;
  readonly iso?: boolean;
  readonly color: boolean;
}

export function addGlobalOptions(program: Command): void {
  program
    .addOption(
      new Option("--address <host:port>", "the service's gRPC address; https://HOST:PORT for TLS")
        .env("REVERIE_ADDRESS")
        .default("127.0.0.1:50051"),
    )
    .addOption(
      new Option(
        "--token-file <file>",
        "holds the token, alone or as NAME:TOKEN; without it, REVERIE_TOKEN is the token",
      ).env("REVERIE_TOKEN_FILE"),
    )
    .option("--tls", "use TLS, with the system's certificate authorities")
    .addOption(new Option("--tls-ca <file>", "use TLS, and trust these authorities, PEM").env("REVERIE_TLS_CA"))
    .option("--tls-cert <file>", "a certificate of our own, PEM, with --tls-key")
    .option("--tls-key <file>", "its private key, PEM")
    .option("--tls-server-name <name>", "the name in the service's certificate, where it isn't the host")
    .option("--insecure", "let the token travel unencrypted to another machine")
    .addOption(
      new Option(
        "--timeout <time>",
        "the longest a call may take: 500ms, 10s, 2m; 0 is no limit (default: 10s, streams none)",
      ).argParser(parseDuration),
    )
    .option("--json", "JSON lines also on a terminal; errors and notes on stderr as JSON, too")
    .addOption(new Option("--table", "tables also where stdout is no terminal").conflicts("json"))
    .option("--iso", "full times in tables, not ages")
    .option("--no-color", "no colours; NO_COLOR does the same");
}
