#!/usr/bin/env node
import { runMain } from "@reverie/service-kit";
import { memoryOptions } from "./config.js";
import { MemoryServer } from "./service.js";
import { version } from "./version.js";

await runMain({
  name: "reverie-memory",
  version,
  description: "Keeps what agents remember, over append-only JSONL files, and serves it over gRPC.",
  options: memoryOptions,
  create: (config, context) => MemoryServer.create(config, context),
});
