/** Bytes of one message, either way. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Bytes of all names and values of a request's metadata. */
export const MAX_METADATA_BYTES = 8 * 1024;
/** The longest deadline of a call, and the one of a call that sends none. */
export const MAX_DEADLINE_MS = 10 * 60 * 1000;
export const MAX_STREAMS_PER_CONNECTION = 100;
export const KEEPALIVE_INTERVAL_MS = 60_000;
export const KEEPALIVE_TIMEOUT_MS = 20_000;
