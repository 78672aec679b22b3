import type { ProgramInfo } from "./config/command-line.js";
import { ConfigError } from "./config/config-error.js";
import { loadConfig } from "./config/load-config.js";
import type { ConfigOf, OptionTable } from "./config/option.js";
import type { LogFormat, LogLevel } from "./log/log-levels.js";
import { createLogger, type Logger } from "./log/logger.js";
import type { BoundAddresses, StopOptions } from "./server.js";

// A supervisor that waits 10 s before it kills gets its exit in time.
const STOP_LIMIT_MS = 9_700;
// A terminal's Ctrl-C comes twice through npm: signals closer together than this are one.
const REPEAT_MS = 500;

export interface ServiceContext {
  readonly logger: Logger;
}

/** A service as `runMain` runs it. */
export interface Runnable {
  start(): Promise<BoundAddresses>;
  /** May be called twice. */
  stop(options?: StopOptions): Promise<void>;
}

/** The options that `runMain` itself reads. */
interface CommonConfig {
  readonly logLevel?: LogLevel;
  readonly logFormat?: LogFormat;
  readonly dataDir?: string;
}

export interface MainOptions<T extends OptionTable> extends ProgramInfo {
  readonly options: T;
  create(config: ConfigOf<T>, context: ServiceContext): Promise<Runnable>;
}

/**
 * The whole life of a service's process. Exit codes: 0 stopped when asked, 1 crashed or failed to start, 2 the
 * configuration is wrong.
 */
export async function runMain<T extends OptionTable>(main: MainOptions<T>): Promise<void> {
  if (process.platform === "win32") {
    process.stderr.write(`${main.name} runs on Linux, and on macOS for development. On Windows use WSL 2.\n`);
    process.exit(2);
  }
  let logger: Logger | undefined;
  try {
    const loaded = loadConfig(main, main.options);
    if (loaded.kind === "print") {
      process.stdout.write(loaded.text);
      return;
    }
    for (const warning of loaded.warnings) process.stderr.write(`${main.name}: ${warning}\n`);
    const common = loaded.config as CommonConfig;
    logger = createLogger({
      name: main.name,
      ...(common.logLevel && { level: common.logLevel }),
      ...(common.logFormat && { format: common.logFormat }),
    });
    crashOnStrayErrors(logger);
    const service = await main.create(loaded.config, { logger });
    stopOnSignals(service, logger);
    const bound = await service.start();
    process.stdout.write(`${greeting(main, bound, common.dataDir)}\n`);
  } catch (error) {
    fail(main.name, error, logger);
  }
}

function greeting(main: ProgramInfo, bound: BoundAddresses, dataDir: string | undefined): string {
  const parts = [
    bound.grpc && `gRPC on ${bound.grpc}`,
    bound.http && `Connect and HTTP on ${bound.http}`,
    dataDir && `data in ${dataDir}`,
  ];
  return `${main.name} ${main.version}: ${parts.filter(Boolean).join(", ")}`;
}

function fail(name: string, error: unknown, logger: Logger | undefined): never {
  if (error instanceof ConfigError) {
    for (const problem of error.problems) process.stderr.write(`${name}: ${problem}\n`);
    process.exit(2);
  }
  const message = error instanceof Error ? error.message : String(error);
  if (logger === undefined) process.stderr.write(`${name}: ${message}\n`);
  else logger.fatal({ err: error }, `could not start: ${message}`);
  process.exit(1);
}

function stopOnSignals(service: Runnable, logger: Logger): void {
  let askedAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (askedAt !== undefined) {
      if (performance.now() - askedAt < REPEAT_MS) return;
      logger.warn({ signal }, "asked again: leaving at once");
      process.exit(1);
    }
    askedAt = performance.now();
    logger.info({ signal }, "stopping");
    setTimeout(() => {
      logger.error("the stop took too long: leaving");
      process.exit(1);
    }, STOP_LIMIT_MS).unref();
    service.stop().then(
      () => {
        logger.info("stopped");
        process.exit(0);
      },
      (error: unknown) => {
        logger.fatal({ err: error }, "the stop failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}

function crashOnStrayErrors(logger: Logger): void {
  process.on("uncaughtException", (error) => {
    logger.fatal({ err: error }, "an error that nobody caught");
    process.exit(1);
  });
  process.on("unhandledRejection", (error) => {
    logger.fatal({ err: error }, "a rejection that nobody handled");
    process.exit(1);
  });
}
