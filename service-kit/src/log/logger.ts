import { type DestinationStream, type Logger, pino } from "pino";
import type { LogFormat, LogLevel } from "./log-levels.js";

export type { Logger } from "pino";

export interface LoggerOptions {
  /** Names the service in every line. */
  readonly name: string;
  /** Default `info`. */
  readonly level?: LogLevel;
  /** Default `json`. */
  readonly format?: LogFormat;
  /** Default stderr, written synchronously: the last line of a crash must come out. */
  readonly destination?: DestinationStream;
}

export function createLogger(options: LoggerOptions): Logger {
  const target = options.destination ?? pino.destination({ dest: 2, sync: true });
  const destination = options.format === "text" ? textDestination(target) : target;
  return pino(
    {
      name: options.name,
      level: options.level ?? "info",
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: ["authorization", "*.authorization", "token", "*.token"], censor: "[redacted]" },
    },
    destination,
  );
}

function textDestination(target: DestinationStream): DestinationStream {
  return { write: (line) => target.write(`${textLine(line)}\n`) };
}

function textLine(line: string): string {
  const { time, level, name, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const fields = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const stack = (err as { stack?: string } | undefined)?.stack;
  const head = `${String(time).slice(11, 23)} ${String(level).padEnd(5)} ${String(name)}: ${String(msg ?? "")}`;
  return [head, ...fields].join(" ") + (stack === undefined ? "" : `\n${stack}`);
}
