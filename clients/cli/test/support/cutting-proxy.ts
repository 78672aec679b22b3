import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CuttingProxy {
  readonly address: string;
  /** Connections that were cut. */
  readonly cuts: () => number;
  close(): void;
}

/**
 * A proxy in front of a service that cuts a connection when so many bytes went one way, the first `times` times.
 * Afterwards, and with no limit, it only passes on.
 */
export async function startCuttingProxy(
  target: string,
  { direction, bytes, times = 1 }: { direction: "request" | "response"; bytes: number; times?: number },
): Promise<CuttingProxy> {
  const [host = "", port = ""] = target.split(":");
  const open = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), host);
    const cutting = cuts < times;
    let seen = 0;
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    const watched = direction === "request" ? client : upstream;
    watched.on("data", (chunk: Buffer) => {
      seen += chunk.length;
      if (!cutting || seen < bytes) return;
      cuts++;
      client.destroy();
      upstream.destroy();
    });
    client.pipe(upstream);
    upstream.pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
