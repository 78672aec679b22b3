import type { ClientReason, ReverieError, ServerReason } from "@reverie/client";

type Hint = string | ((metadata: Readonly<Record<string, string>>) => string);

/** The next step after each failure, in terms of the command line. */
const HINTS: Readonly<Record<ServerReason | ClientReason, Hint>> = {
  INTERNAL: ({ error_id: id }) =>
    `This is a bug of the service. Report it${id === undefined ? "" : ` with the log line that has ${id}`}.`,
  FIELD_INVALID: "Correct what the message names; `reverie help COMMAND` has the forms and examples.",
  UNAUTHENTICATED: "Put the token into REVERIE_TOKEN, or into a file that --token-file names.",
  PERMISSION_DENIED: "Use a token that may do this: REVERIE_TOKEN or --token-file.",
  DRAINING: "The service is stopping. Try again when it is back.",
  DEADLINE_EXCEEDED:
    "Check --address and the service's load, or give more time, such as --timeout 60s. A change may have been made.",
  CANCELLED: "Run it again.",
  MESSAGE_TOO_LARGE: "Send less at once: a text holds 1 MiB at most.",
  METADATA_TOO_LARGE: "The token is too long: check the file of --token-file.",
  UNIMPLEMENTED:
    "Check that --address is the service's gRPC port (50051 by default) and that its version is this one's or newer.",
  PAGE_TOKEN_INVALID: "The service forgot where the listing was, as after a restored backup. Run it again.",
  INTERRUPTED:
    "The service stopped meanwhile, and the change may have been made, in part or whole. Look, or run it again.",
  OWNER_ID_INVALID:
    "Choose another id. An owner is written KIND/ID, such as agent/ada; an id has no slash and no leading dot.",
  OWNER_NAME_TWIN: ({ existing }) =>
    existing === undefined
      ? "An owner exists whose name differs in case or Unicode form only: see `reverie owners`."
      : `Use the owner that exists, ${existing}, or a name that differs in more than case or Unicode form.`,
  OWNER_PATH_UNSAFE:
    "Whoever runs the service replaces the link in the data directory by the directory or file itself.",
  CONFIG_EXISTS: "The owner has another config; it is changed through the API (Attach with replace).",
  CONFIG_UNREADABLE: "Whoever runs the service mends or removes .reverie.json in the owner's directory.",
  ENTRY_ID_INVALID: "Leave --id out to get one, or give 1 to 128 bytes without control characters.",
  TEXT_INVALID: "A text is 1 byte to 1 MiB of UTF-8: split a longer one into several memories.",
  META_INVALID: '--meta takes one JSON object, up to 64 KiB and 32 levels, no key twice: --meta \'{"source":"chat"}\'.',
  KIND_NOT_ALLOWED: ({ allowed }) =>
    `Give another --kind${allowed === undefined ? "" : ` (${allowed})`}; \`reverie describe OWNER\` shows what the owner allows.`,
  ENTRY_EXISTS:
    "Leave --id out to get a new one, or change the meta of the one there: `reverie patch`. To replace it, forget it first.",
  ENTRY_FORGOTTEN: "It was forgotten on purpose. To store it all the same, give it another --id, or none.",
  ENTRY_NOT_FOUND: "`reverie list OWNER` shows the ids that there are.",
  ENTRY_CORRUPT: "Forget it, or stop the service and run `reverie check DIR` to see the damaged line.",
  WATCH_CURSOR_EXPIRED: "What followed can't be replayed. List the owner, then watch anew, without --after.",
  SEQ_NOT_REACHED: ({ seq }) =>
    `The service knows less than you${seq === undefined ? "" : ` (its seq is ${seq})`}: its data come from an older copy. List again; watch without --after.`,
  LOG_STOPPED:
    "The service can't read or write its files, and its log says why. The change may have been made: look, or run it again in a moment.",
  DISK_FULL: "The service's disk is full. Free some space; `reverie forget` and `reverie trash purge` still work.",
  OVERLOADED: "The service is short of memory or file descriptors. Nothing was stored. Try again in a moment.",
  TRASH_NOT_FOUND: "`reverie trash list OWNER` shows the refs that there are.",
  TRASH_RESTORE_CONFLICT:
    "The owner lives again. Look at it with `reverie list`; to put the older one back, send it to the trash first: `reverie trash delete OWNER`.",
  ADDRESS_INVALID: "Give --address (or REVERIE_ADDRESS) as host:port or https://host:port.",
  OPTION_INVALID: "Check the global options and the token; `reverie --help` lists them.",
  TOKEN_INSECURE: "Use --tls or an https:// address; --insecure sends it all the same, on a network that you trust.",
  CONNECTION_FAILED:
    "Start the service (`npm start` in its checkout), or say where it listens: --address HOST:PORT or REVERIE_ADDRESS. Both sides use TLS, or neither: --tls, --tls-ca.",
  CONNECTION_LOST: "A change may have been made. Look, or run it again with the same --id.",
  CLIENT_CLOSED: "Run it again.",
  STREAM_INCOMPLETE: "What came is not everything. Run it again.",
  SCOPE_INVALID: "Give an owner such as agent/ada.",
  SCOPE_UNRESOLVED: "Give an owner such as agent/ada.",
  RESPONSE_INVALID: "The service is of another version. Update this command.",
  UNKNOWN: "Check that --address is a memory service's gRPC port, and look at its log.",
};

/** What OpenSSL and Node say when TLS itself fails, and the next step. */
const TLS_HINTS: readonly (readonly [says: RegExp, hint: string])[] = [
  [/wrong version number/, "Leave out --tls, --tls-ca and https://: what listens there speaks no TLS."],
  [
    /self-signed certificate|unable to (?:verify|get)|UNABLE_TO_/,
    "Name the authority that signed the service's certificate, or the certificate itself: --tls-ca FILE.",
  ],
  [
    /altnames/,
    "Give the host as the service's certificate names it, in --address; or --tls-server-name NAME with that name.",
  ],
  [/certificate has expired/, "Whoever runs the service renews its certificate and restarts it."],
  [/certificate required|bad certificate/i, "Give a certificate that the service takes: --tls-cert and --tls-key."],
];

/** Messages of the SDK whose first sentence says what happened, and whose others advise programmers. */
export const FIRST_SENTENCE_SAYS_IT: ReadonlySet<string> = new Set<ServerReason | ClientReason>([
  "ADDRESS_INVALID",
  "CONNECTION_FAILED",
  "CONNECTION_LOST",
  "DEADLINE_EXCEEDED",
  "STREAM_INCOMPLETE",
  "TOKEN_INSECURE",
  "UNAUTHENTICATED",
  "UNIMPLEMENTED",
]);

export function hintFor({ reason, message, metadata, retryAfterMs }: ReverieError): string | undefined {
  if (reason === "CONNECTION_FAILED") {
    const tls = TLS_HINTS.find(([says]) => says.test(message));
    if (tls !== undefined) return tls[1];
  }
  const hint = Object.hasOwn(HINTS, reason) ? HINTS[reason as ServerReason] : undefined;
  const text = typeof hint === "function" ? hint(metadata) : hint;
  if (retryAfterMs === undefined || retryAfterMs < 1_000) return text;
  return `${text ?? "Try again."} The service asks to wait ${Math.ceil(retryAfterMs / 1_000)} s.`;
}
