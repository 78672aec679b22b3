import { join } from "node:path";
import { openJsonlStore } from "../../../memory-service/src/store/jsonl/jsonl-store.js";
import { startContractServer } from "../../contract/support/contract-server.js";
import { ServiceProcess } from "../../e2e/support/service-process.js";
import { seededRandom } from "../../lib/random.js";
import type { Outcome } from "../../lib/scorecard.js";
import { keptDirectory } from "../kept-directory.js";
import { type Context, NONE, type Part, SOME } from "../part.js";
import { keepHistory } from "./kept-history.js";
import { LIES, type Lie, lyingStore } from "./lying-store.js";
import { type HistoryReport, runHistory } from "./run-history.js";

const CALLS_A_RESTART = 2_500;
/** Enough for most lies to be told and to show. */
const CONTROL_CALLS = 400;
/** A lie that changes no answer, by chance, is told again. */
const CONTROL_ROUNDS = 10;

/** Concurrent clients of a real service over bad connections: all replies of an owner fit one order of its changes. */
export const historyPart: Part = {
  name: "history",
  title: "Concurrent clients' replies, retries included, fit one order an owner",
  measures: [
    { id: "history_violations", unit: "replies", target: NONE },
    { id: "history_control", unit: "replies", target: SOME },
  ],
  run: async (context): Promise<Outcome> => {
    const { violations, wrong, ...facts } = await honest(context);
    const kept = wrong.map((owner) => keepHistory(keptDirectory(context, "history", "clients"), owner));
    const found = [];
    for (const lie of LIES) {
      context.progress(`a store with ${lie}`);
      let wrong = 0;
      for (let round = 0; wrong === 0 && round < CONTROL_ROUNDS; round++)
        wrong = (await lying(context, lie, round)).violations.length;
      found.push({ lie, wrong });
    }
    const unnoticed = found.filter(({ wrong }) => wrong === 0).map(({ lie }) => lie);
    // A control that misses one sort of lie is none.
    const control = unnoticed.length > 0 ? 0 : found.reduce((sum, { wrong }) => sum + wrong, 0);
    return {
      values: { history_violations: violations.length, history_control: control },
      facts: { ...facts, ...(unnoticed.length > 0 && { unnoticed: unnoticed.join(", ") }) },
      findings: [...kept.map((file) => `what clients did and were told: ${file}`), ...violations],
    };
  },
};

/** `main.ts` in a process of its own, killed and stopped in turns. */
async function honest({ dir, size, seed, progress }: Context): Promise<HistoryReport> {
  const dataDir = join(dir, "data");
  const flags = ["--compact-min-bytes", "4096"];
  let service = await ServiceProcess.start({ dataDir, flags });
  try {
    return await runHistory({
      calls: size.historyCalls,
      seed,
      address: service.grpc,
      shaky: true,
      restarts: Math.max(1, Math.round(size.historyCalls / CALLS_A_RESTART)),
      restart: async (n, ended) => {
        await service.end(n % 2 === 0 ? "SIGKILL" : "SIGTERM");
        ended();
        service = await ServiceProcess.start({ dataDir, flags });
        return service.grpc;
      },
      progress,
    });
  } finally {
    await service.end("SIGKILL");
  }
}

async function lying({ dir, seed: first }: Context, lie: Lie, round: number): Promise<HistoryReport> {
  const seed = first + round;
  const root = join(dir, `${lie} ${round}`);
  const server = await startContractServer({
    store: async () => lyingStore(await openJsonlStore({ root, reserveBytes: 0 }), lie, seededRandom(seed)),
  });
  try {
    return await runHistory({ calls: CONTROL_CALLS, seed, address: server.grpc, shaky: false, restarts: 0 });
  } finally {
    await server.stop();
  }
}
