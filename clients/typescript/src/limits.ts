/** The largest message either way, bytes; the services' own limit. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Servers disconnect who pings more often than this, milliseconds. */
export const MIN_KEEPALIVE_MS = 10_000;
/** The deadline of unary calls unless told otherwise, milliseconds. */
export const DEFAULT_TIMEOUT_MS = 10_000;
/** What grpc-js and timers can count, milliseconds. */
export const MAX_TIMEOUT_MS = 2_147_483_647;
/** Entries that a hub's list() returns by default, and at most. */
export const DEFAULT_LIST = 100;
export const MAX_LIST = 500;
/** The most entries that recall returns. */
export const MAX_K = 200;
/** Bytes of payload gathered into one message of a client stream; services answer fastest around this. */
export const BATCH_BYTES = 64 * 1024;
/** Bytes of JSONL a message of an import. */
export const IMPORT_CHUNK_BYTES = 1024 * 1024;
