#!/usr/bin/env node
import { Interrupt } from "./interrupt.js";
import { runCli } from "./run-cli.js";

// A dependency's deprecations are nothing that whoever runs this can act on.
Object.assign(process, { noDeprecation: true });

// All that was written is out by now; a stdin that is still open, say, must not keep the process.
process.exit(await runCli(process.argv.slice(2), new Interrupt()));
