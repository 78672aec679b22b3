import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { InfoService, LimitsSchema } from "@reverie/proto/info";
import { MAX_DEADLINE_MS, MAX_MESSAGE_BYTES, MAX_METADATA_BYTES, MAX_STREAMS_PER_CONNECTION } from "./rpc/limits.js";

export interface InfoOptions {
  /** `reverie-memory` or `reverie-dream`. */
  readonly service: string;
  /** Semantic version. */
  readonly version: string;
  /** Protobuf packages served, such as `reverie.memory.v1`. */
  readonly apiPackages: readonly string[];
  /** Named features, such as `recall.streaming`. */
  readonly capabilities: readonly string[];
  /** The service's own limits; those of the listeners are filled in. */
  readonly limits: MessageInitShape<typeof LimitsSchema>;
  /** `fsync`, `interval` or `none`. */
  readonly durability: string;
}

/** The handlers of `reverie.info.v1.InfoService`. */
export function infoService(options: InfoOptions): ServiceImpl<typeof InfoService> {
  const startedAtMs = BigInt(Date.now());
  return {
    getServerInfo: () => ({
      service: options.service,
      version: options.version,
      apiPackages: [...options.apiPackages],
      capabilities: [...options.capabilities],
      limits: {
        maxMessageBytes: BigInt(MAX_MESSAGE_BYTES),
        maxMetadataBytes: BigInt(MAX_METADATA_BYTES),
        maxDeadlineMs: BigInt(MAX_DEADLINE_MS),
        maxStreamsPerConnection: MAX_STREAMS_PER_CONNECTION,
        ...options.limits,
      },
      startedAtMs,
      durability: options.durability,
    }),
  };
}
