import { Counter, Gauge, type Registry } from "prom-client";
import type { MemoryStore } from "./store/store.js";

/** Registers what the memory service measures besides its calls; returns how to count what caps drop. */
export function registerMetrics(registry: Registry, store: MemoryStore): (entries: number) => void {
  const dropped = new Counter({
    name: "reverie_memory_dropped_by_caps_total",
    help: "Entries that owners' caps dropped.",
    registers: [registry],
  });
  new Gauge({
    name: "reverie_memory_stopped_owners",
    help: "Owners whose log is stopped after a failed write or sync.",
    registers: [registry],
    collect() {
      this.set(store.health().stoppedOwners);
    },
  });
  new Gauge({
    name: "reverie_memory_disk_full",
    help: "1 while writes find no room, else 0.",
    registers: [registry],
    collect() {
      this.set(store.health().diskFull ? 1 : 0);
    },
  });
  return (entries) => dropped.inc(entries);
}
