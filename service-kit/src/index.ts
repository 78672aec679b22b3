export { type CommandLine, helpText, type ProgramInfo, parseCommandLine } from "./config/command-line.js";
export { ConfigError } from "./config/config-error.js";
export { parseConfigFile } from "./config/config-file.js";
export { describeOptions, type OptionDescription } from "./config/describe-options.js";
export { formatAddress, isLoopback, type ListenAddress, parseAddress } from "./config/listen-address.js";
export { type LoadedConfig, loadConfig } from "./config/load-config.js";
export { type ConfigOf, defineOptions, type OptionSpec, type OptionTable, option } from "./config/option.js";
export { type ConfigFile, type ConfigSources, type ParsedConfig, parseOptions } from "./config/parse-options.js";
export { type SharedConfig, type SharedDefaults, sharedOptions } from "./config/shared-options.js";
export { connectErrorOf, type ReportBug, toConnectError, toReverieError } from "./errors/normalize-error.js";
export { reasonCode } from "./errors/reason-codes.js";
export * from "./errors.js";
export { type InfoOptions, infoService } from "./info-service.js";
export { type ListenOptions, listenOptions } from "./listen-options.js";
export { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "./log/log-levels.js";
export { createLogger, type Logger, type LoggerOptions } from "./log/logger.js";
export {
  MAX_DEADLINE_MS,
  MAX_MESSAGE_BYTES,
  MAX_METADATA_BYTES,
  MAX_STREAMS_PER_CONNECTION,
} from "./rpc/limits.js";
export {
  type MethodName,
  type RpcMethod,
  type RpcService,
  type RpcServiceOptions,
  rpcService,
} from "./rpc/rpc-service.js";
export { parseTokens, TokenAuth } from "./rpc/token-auth.js";
export { type MainOptions, type Runnable, runMain, type ServiceContext } from "./run-main.js";
export {
  type BoundAddresses,
  createServer,
  type RpcServer,
  type ServerOptions,
  type ServiceHealth,
  type StopOptions,
} from "./server.js";
