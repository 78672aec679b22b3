import { InfoService } from "@reverie/proto/info";
import { MemoryService } from "@reverie/proto/memory";
import { createServer, infoService, listenOptions, rpcService, runMain, sharedOptions } from "../../src/index.js";

// A service whose process the tests start. The text of a Remember says how it misbehaves.
await runMain({
  name: "reverie-fixture",
  version: "0.0.1",
  description: "Stands for a service.",
  options: sharedOptions({ grpcAddress: "127.0.0.1:0", httpAddress: "127.0.0.1:0", dataDir: "./fixture-data" }),
  create: async (config, { logger }) => {
    const server = createServer({
      ...listenOptions(config),
      logger,
      services: [
        rpcService(MemoryService, {
          remember: ({ entry }) => {
            if (entry?.text === "stray rejection") void Promise.reject(new Error("stray"));
            if (entry?.text === "stray throw") setImmediate(() => throwStray());
            return new Promise(() => {});
          },
          async *recall(_request, context) {
            yield {};
            await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
          },
        }),
        rpcService(
          InfoService,
          infoService({
            service: "reverie-fixture",
            version: "0.0.1",
            apiPackages: [],
            capabilities: [],
            limits: {},
            durability: "none",
          }),
          { public: true },
        ),
      ],
    });
    return server;
  },
});

function throwStray(): never {
  throw new Error("stray");
}
