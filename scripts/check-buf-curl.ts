// Calls a running memory-service with `buf curl`, a client that shares no code
// with this repository: through server reflection on the gRPC listener, and with
// the .proto files as the schema on the other.
import { execFileSync } from "node:child_process";
import { withMemoryService } from "./lib/memory-service.js";
import { writeProtoDeps } from "./lib/proto-deps.js";
import { root, sourceArgs, toolEnv, withTempDir } from "./lib/repo.js";

interface Way {
  readonly protocol: "grpc" | "grpcweb" | "connect";
  readonly port: number;
  /** HTTP/1.1, or HTTP/2 without TLS. */
  readonly http: 1 | 2;
  /** Learn the schema from the server, not from the .proto files. */
  readonly reflect: boolean;
}

function curl({ protocol, port, http, reflect }: Way, method: string, data: unknown): unknown {
  const args = ["curl", "--protocol", protocol, "--data", JSON.stringify(data)];
  if (http === 2) args.push("--http2-prior-knowledge");
  if (!reflect) args.push("--schema", ".");
  return JSON.parse(
    execFileSync("buf", [...args, `http://127.0.0.1:${port}/${method}`], {
      cwd: root,
      env: toolEnv,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
}

function expectMatch(actual: unknown, wanted: RegExp): void {
  const text = JSON.stringify(actual);
  if (!wanted.test(text)) throw new Error(`expected ${wanted}, got ${text}`);
}

writeProtoDeps();
await withTempDir("buf-curl", (dir) =>
  withMemoryService(
    [process.execPath, ...sourceArgs, "memory-service/src/main.ts"],
    dir,
    async ({ grpcPort, httpPort }) => {
      const owner = { kind: "OWNER_KIND_AGENT", id: "buf-curl" };
      const ways: readonly Way[] = [
        { protocol: "grpc", port: grpcPort, http: 2, reflect: true },
        { protocol: "grpcweb", port: httpPort, http: 1, reflect: false },
        { protocol: "connect", port: httpPort, http: 1, reflect: false },
        { protocol: "connect", port: httpPort, http: 2, reflect: false },
      ];
      for (const [index, way] of ways.entries()) {
        const entry = { kind: "KIND_SEMANTIC", text: "said with curl", id: `entry-${index}` };
        expectMatch(curl(way, "reverie.info.v1.InfoService/GetServerInfo", {}), /"service":"reverie-memory"/);
        expectMatch(curl(way, "reverie.memory.v1.MemoryService/Remember", { owner, entry }), /"seq":"\d+"/);
        expectMatch(curl(way, "reverie.memory.v1.MemoryService/GetEntry", { owner, id: entry.id }), /said with curl/);
      }
    },
  ),
);
