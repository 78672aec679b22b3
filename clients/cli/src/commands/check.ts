import type { CheckSummary, Finding } from "@reverie/memory-service/check";
import type { Command } from "commander";
import { CliError, fileError } from "../cli-error.js";
import { ExitCode } from "../exit-code.js";
import { teach } from "../help.js";
import { jsonLine, type Output } from "../output/output.js";
import { manyLines, oneLine } from "../output/printable.js";
import { bytes, count } from "../output/units.js";
import { Progress } from "../progress.js";
import type { OfflineSession, Runtime } from "../runtime.js";

interface Options {
  readonly fix?: boolean;
  readonly adopt?: boolean;
}

export function addCheck(program: Command, runtime: Runtime): void {
  const command = program
    .command("check")
    .argument("<dir>", "the service's data directory, or a copy of it; the service must be stopped")
    .option("--fix", "mend what can be mended; what is cut or set aside is kept beside the log")
    .option("--adopt", "serve again the lines whose checksum isn't their own, as they stand now")
    .action((dir: string, options: Options, command: Command) =>
      runtime.offline(command, (session) => check(session, dir, options)),
    );
  teach(command, {
    summary: "Check a data directory, without the service",
    details:
      "Without --fix and --adopt it changes nothing and says what they would do. Nothing is ever deleted. Exit status: 0 nothing " +
      "is wrong, or all of it was mended; 1 problems remain; 2 it can't be checked (a service has it open, or it is no data directory).",
    examples: [
      ["check .reverie/memory", "look only"],
      ["check .reverie/memory --fix", "mend"],
      ["check .reverie/memory --adopt", "also after somebody edited a log on purpose"],
      ["check .reverie/memory | jq -r .problem | sort | uniq -c", "how often what was found"],
    ],
  });
}

async function check({ output, signal }: OfflineSession, dataDir: string, options: Options): Promise<void> {
  // Only this command pays for loading the store.
  const { checkDataDirectory, DataDirectoryError } = await import("@reverie/memory-service/check");
  const { fix = false, adopt = false } = options;
  const progress = new Progress(output, "Checking");
  const findings = checkDataDirectory({
    ...{ dataDir, fix, adopt, signal },
    onProgress: ({ bytes, totalBytes }) => progress.update({ bytes }, { bytes: totalBytes }),
  });
  let summary: CheckSummary;
  let canDoMore = false;
  try {
    for (;;) {
      const next = await findings.next();
      progress.done();
      if (next.done) {
        summary = next.value;
        break;
      }
      canDoMore ||= !next.value.done && next.value.action !== "none";
      await output.write(output.json ? jsonLine(JSON.stringify(next.value)) : `${describe(next.value, output)}\n`);
    }
  } catch (error) {
    if (!(error instanceof DataDirectoryError))
      throw isSystemError(error) ? fileError(`Can't check ${dataDir}`, error) : error;
    throw new CliError(ExitCode.USAGE, error.message, {
      reason: "CANNOT_CHECK",
      hint: hintOf(error.message),
      cause: error,
    });
  } finally {
    progress.done();
    await findings.return(undefined as never);
  }
  tell(output, summary, options, canDoMore);
}

function hintOf(message: string): string {
  if (/in use|during the check/.test(message)) return "Stop the service that has the directory open, or check a copy.";
  if (/has format/.test(message)) return "Use the `reverie` of the version that the service has.";
  return "Give the service's --data-dir, or a copy of it, and run this as the user that it belongs to.";
}

function describe({ path, line, problem, severity, message, action, done, id, bytes: size }: Finding, output: Output) {
  const { style } = output;
  const where = oneLine(path === "" ? "." : path) + (line === undefined ? "" : `:${line}`);
  const what = severity === "information" ? style.dim(problem) : style.yellow(problem);
  const facts = [...(id === undefined ? [] : [`id ${oneLine(id)}`]), ...(size === undefined ? [] : [bytes(size)])];
  const todo = done ? style.green(`done: ${action}`) : action === "none" ? "" : `to do: ${action}`;
  return [
    `${style.bold(where)}  ${what}${facts.length === 0 ? "" : `  ${style.dim(facts.join(", "))}`}`,
    `  ${manyLines(message).replaceAll("\n", "\n  ")}`,
    ...(todo === "" ? [] : [`  ${todo}`]),
  ].join("\n");
}

function tell(output: Output, summary: CheckSummary, { fix, adopt }: Options, canDoMore: boolean): void {
  const { owners, logs, entries, fixed, remaining } = summary;
  const looked = `${count(entries, "memory", "memories")} in ${count(logs, "log")} of ${count(owners, "owner")}, ${bytes(summary.bytes)}`;
  const mended = fix || adopt ? `; ${count(fixed, "problem")} mended` : "";
  output.note(`Checked ${looked}${mended}${remaining === 0 ? "; nothing is wrong" : ""}.`, { summary });
  if (remaining === 0) return;
  throw new CliError(ExitCode.FAILED, `${count(remaining, "problem remains", "problems remain")}`, {
    reason: "PROBLEMS_REMAIN",
    hint: canDoMore
      ? "See what each finding says; --fix and --adopt do what is marked with `to do`."
      : "See what each finding says; --fix and --adopt can do nothing more about them.",
  });
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
