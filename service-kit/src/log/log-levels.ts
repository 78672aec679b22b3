// What belongs where:
// - fatal: the process ends because of it.
// - error: a bug or lost work; somebody must look. Failures of code INTERNAL, with their error_id.
// - warn: works, but not as configured or not for long.
// - info: what an operator would ask a day later: start, stop, addresses, sweeps.
// - debug: one line a call.
// - trace: for developers.
// Never a text, a meta, a token or another header's value.
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ["json", "text"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];
