import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { bundleService } from "../../lib/service-bundle.js";
import { NONE, type Part, SOME } from "../part.js";
import { Contest, OTHER_NETWORK } from "./contest.js";

/** A round is four processes that are refused, and six that start. */
const ROUNDS_PER_KILL = 0.05;

/** Second processes on one data directory. */
export const secondWriterPart: Part = {
  name: "second-writer",
  title: "A second process on one data directory",
  measures: [
    { id: "second_writer_wins", unit: "tries", target: NONE },
    { id: "second_writer_control", unit: "tries", target: SOME },
  ],
  obstacle: () => {
    try {
      const [command = "", ...args] = [...OTHER_NETWORK, "true"];
      execFileSync(command, args, { stdio: ["ignore", "ignore", "pipe"] });
      return undefined;
    } catch (error) {
      const why = error instanceof Error ? error.message.trim().split("\n").at(-1) : String(error);
      return `no network namespace can be made (${why}): run on Linux as root, with apt-get install util-linux iproute2, or --skip second-writer`;
    }
  },
  run: async ({ dir, size, progress }) => {
    const rounds = Math.max(1, Math.round(size.kills * ROUNDS_PER_KILL));
    const bundle = await bundleService();
    try {
      const contest = new Contest(join(dir, "data"), bundle.main);
      for (let round = 0; round < rounds; round++) {
        progress(`${round} of ${rounds} rounds`);
        await contest.round();
      }
      const control = new Contest(join(dir, "control"), bundle.main);
      await control.withoutLock();
      return {
        values: { second_writer_wins: contest.wins.length, second_writer_control: control.wins.length },
        facts: {
          tries: contest.tries,
          acknowledged: contest.acknowledgedCount,
          lost: contest.wins.filter((what) => what.endsWith("is lost")).length,
          "taken over after a kill": contest.takeovers,
          "ms to refuse at most": Math.round(contest.slowestMs),
        },
        findings: contest.wins,
      };
    } finally {
      bundle.remove();
    }
  },
};
