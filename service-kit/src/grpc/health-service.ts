import type { Server } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";

/** grpc.health.v1 for "" and each service by name. */
export class HealthService {
  readonly #names: readonly string[];
  readonly #implementation: HealthImplementation;
  #serving = false;

  constructor(serviceNames: readonly string[]) {
    this.#names = ["", ...serviceNames];
    this.#implementation = new HealthImplementation(
      Object.fromEntries(this.#names.map((name) => [name, "NOT_SERVING" as const])),
    );
  }

  addTo(server: Server): void {
    this.#implementation.addToServer(server);
  }

  set(serving: boolean): void {
    if (serving === this.#serving) return;
    this.#serving = serving;
    for (const name of this.#names) this.#implementation.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
  }
}
