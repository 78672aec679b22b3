import { type Client, credentials, makeClientConstructor, type ServiceDefinition } from "@grpc/grpc-js";
import { service as healthDefinition } from "grpc-health-check";
import type { ServiceProcess } from "../../e2e/support/service-process.js";

/** How a service says it fares, everywhere where it says so. */
export interface SaidHealth {
  /** grpc.health.v1, of the whole server. */
  readonly grpc: string;
  /** The status of /healthz. */
  readonly healthz: number;
  /** The metric `reverie_memory_stopped_owners`. */
  readonly stoppedOwners: number;
}

interface HealthClient extends Client {
  check(
    request: { service: string },
    options: { deadline: number },
    callback: (error: Error | null, response: { status: string }) => void,
  ): void;
}

const Health = makeClientConstructor(healthDefinition as ServiceDefinition, "Health");

export async function askHealth({ grpc, http }: ServiceProcess): Promise<SaidHealth> {
  const client = new Health(grpc, credentials.createInsecure()) as unknown as HealthClient;
  try {
    const status = await new Promise<string>((resolve, reject) =>
      client.check({ service: "" }, { deadline: Date.now() + 10_000 }, (error, response) =>
        error === null ? resolve(response.status) : reject(error),
      ),
    );
    const healthz = await fetch(`http://${http}/healthz`);
    await healthz.text();
    const metrics = await (await fetch(`http://${http}/metrics`)).text();
    const stopped = /^reverie_memory_stopped_owners (\d+)$/m.exec(metrics)?.[1];
    return { grpc: status, healthz: healthz.status, stoppedOwners: Number(stopped ?? Number.NaN) };
  } finally {
    client.close();
  }
}
