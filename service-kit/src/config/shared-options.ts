import { z } from "zod";
import { LOG_FORMATS, LOG_LEVELS } from "../log/log-levels.js";
import { parseAddress } from "./listen-address.js";
import { type ConfigOf, defineOptions, option } from "./option.js";

const address = z
  .string()
  .refine((text) => parseAddress(text) !== undefined, "must be host:port, such as 127.0.0.1:50051 or [::1]:50051");
// "off" keeps a listener shut; at least one must be open.
const addressOrOff = z.union([z.literal("off"), address], "must be host:port, such as 127.0.0.1:8051, or off");

/** What differs between the services. */
export interface SharedDefaults {
  readonly grpcAddress: string;
  readonly httpAddress: string;
  readonly dataDir: string;
}

/** The options that every Reverie service has. */
export function sharedOptions(defaults: SharedDefaults) {
  return defineOptions({
    grpcAddress: option({
      schema: addressOrOff,
      default: defaults.grpcAddress,
      valueName: "host:port",
      help: "Where native gRPC listens; off: nowhere. Port 0 takes a free one.",
    }),
    httpAddress: option({
      schema: addressOrOff,
      default: defaults.httpAddress,
      valueName: "host:port",
      help: "Where Connect, gRPC-Web, /healthz and /metrics listen, HTTP/1.1 and HTTP/2; off: nowhere.",
    }),
    dataDir: option({
      schema: z.string().min(1),
      default: defaults.dataDir,
      valueName: "dir",
      help: "The directory that holds everything. Made when missing, for this user alone.",
    }),
    tokensFile: option({
      schema: z.string().min(1).optional(),
      valueName: "file",
      help: "Bearer tokens that may call, one a line, 16 characters or more: either token or name:token. Empty lines and # comments are skipped.",
    }),
    tlsCertFile: option({
      schema: z.string().min(1).optional(),
      valueName: "file",
      help: "Certificate chain, PEM. Turns TLS on for both listeners, with tlsKeyFile.",
    }),
    tlsKeyFile: option({
      schema: z.string().min(1).optional(),
      valueName: "file",
      help: "Private key of the certificate, PEM.",
    }),
    insecure: option({
      schema: z.boolean(),
      default: false,
      help: "Listen beyond this machine without TLS and tokens. Whoever reaches the port can read and erase everything.",
    }),
    httpAllowedHosts: option({
      schema: z.array(z.string().min(1)),
      default: [],
      valueName: "names",
      help: "More Host names that a loopback HTTP listener answers to, behind a proxy for example. Others are refused, against DNS rebinding.",
    }),
    drainMs: option({
      schema: z.int().min(0).max(9000),
      default: 5000,
      unit: "milliseconds",
      help: "How long a stop waits for calls in flight, at most 9000.",
    }),
    logLevel: option({
      schema: z.enum(LOG_LEVELS),
      default: "info",
      valueName: "level",
      help: "The least that is logged; debug has a line a call.",
    }),
    logFormat: option({
      schema: z.enum(LOG_FORMATS),
      default: "json",
      valueName: "format",
      help: "json: one object a line on stderr; text: for people.",
    }),
  });
}

export type SharedConfig = ConfigOf<ReturnType<typeof sharedOptions>>;
