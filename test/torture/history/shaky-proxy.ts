import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Random } from "../../lib/random.js";

export interface ProxyOptions {
  readonly random: Random;
  /** Of so many packets of answers one never arrives; undefined: it only passes on. */
  readonly oneIn?: number;
}

/** How long a swallowed answer is missing before the connection goes, milliseconds. */
const SILENT_MS = 60;

/** Stands before a service on loopback: now and then it cuts a connection, or passes requests on and swallows the answers. */
export class ShakyProxy {
  cuts = 0;
  swallowed = 0;
  private readonly pairs = new Set<Pair>();
  private to: string | undefined;
  private waiting: Socket[] = [];
  private oneIn: number;

  private constructor(
    private readonly server: Server,
    private readonly options: ProxyOptions,
  ) {
    server.on("connection", (client) => this.accept(client));
    this.oneIn = options.oneIn ?? Number.POSITIVE_INFINITY;
  }

  static async start(options: ProxyOptions): Promise<ShakyProxy> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ShakyProxy(server, options);
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** `host:port` of the service behind it; undefined while there is none: who connects has to wait. */
  set target(target: string | undefined) {
    this.to = target;
    if (target === undefined) return;
    for (const client of this.waiting) this.pass(client, target);
    this.waiting = [];
  }

  /** No more troubles. */
  calm(): void {
    this.oneIn = Number.POSITIVE_INFINITY;
  }

  async close(): Promise<void> {
    this.calm();
    for (const pair of this.pairs) pair.cut();
    for (const client of this.waiting) client.destroy();
    const closed = once(this.server, "close");
    this.server.close();
    await closed;
  }

  private accept(client: Socket): void {
    client.on("error", () => {});
    if (this.to === undefined) this.waiting.push(client);
    else this.pass(client, this.to);
  }

  private pass(client: Socket, target: string): void {
    const [host, port] = target.split(":");
    const pair = new Pair(client, connect(Number(port), host), () => this.trouble(pair));
    this.pairs.add(pair);
    pair.closed = () => void this.pairs.delete(pair);
  }

  /** Before an answer is passed on. */
  private trouble(pair: Pair): void {
    const { random } = this.options;
    if (pair.silent || random() >= 1 / this.oneIn) return;
    if (random() < 0.3) {
      this.cuts++;
      pair.cut();
    } else {
      this.swallowed++;
      pair.silent = true;
      setTimeout(() => pair.cut(), SILENT_MS);
    }
  }
}

class Pair {
  silent = false;
  closed = (): void => {};

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    answering: () => void,
  ) {
    client.setNoDelay(true);
    server.setNoDelay(true);
    client.on("data", (bytes) => server.write(bytes));
    server.on("data", (bytes) => {
      answering();
      if (!this.silent) client.write(bytes);
    });
    for (const socket of [client, server]) {
      socket.on("error", () => {});
      socket.on("close", () => this.cut());
    }
  }

  cut(): void {
    this.client.destroy();
    this.server.destroy();
    this.closed();
  }
}
