import type { MemoryClient } from "@reverie/client";
import type { Command } from "commander";
import { connect } from "./connect.js";
import type { GlobalOptions } from "./globals.js";
import type { Interrupt } from "./interrupt.js";
import { Output } from "./output/output.js";

/** What a command works with that needs no service. */
export interface OfflineSession {
  readonly output: Output;
  /** Aborts with Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

export interface Session extends OfflineSession {
  readonly client: MemoryClient;
  /** For calls that answer once; their deadline is the client's. */
  readonly call: { readonly signal: AbortSignal };
  /** For streams, which have no deadline but the user's. */
  readonly stream: { readonly signal: AbortSignal; readonly timeoutMs?: number };
}

/** Runs the actions of commands: opens what they need, and closes it. */
export class Runtime {
  constructor(readonly interrupt: Interrupt) {}

  async offline(command: Command, work: (session: OfflineSession) => Promise<void>): Promise<void> {
    await work({ output: outputOf(command), signal: this.interrupt.signal });
  }

  async online(command: Command, work: (session: Session) => Promise<void>): Promise<void> {
    const options = command.optsWithGlobals<GlobalOptions>();
    const { signal } = this.interrupt;
    const client = connect(options);
    try {
      await work({
        client,
        output: outputOf(command),
        signal,
        call: { signal },
        stream: { signal, ...(options.timeout !== undefined && { timeoutMs: options.timeout }) },
      });
    } finally {
      client.close();
    }
  }
}

function outputOf(command: Command): Output {
  const { json = false, table = false, iso = false, color } = command.optsWithGlobals<GlobalOptions>();
  return new Output({ json, table, iso, colour: color });
}
