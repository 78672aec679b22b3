import type { Metadata } from "@grpc/grpc-js";

/** What `new Headers()` takes; Node's types have no name for it. */
export type HeadersInput = ConstructorParameters<typeof Headers>[0];

/** Fetch headers as grpc-js metadata, on top of `base`, which isn't changed. `-bin` values are base64 in headers. */
export function toMetadata(header: HeadersInput, base: Metadata): Metadata {
  if (header === undefined) return base;
  const metadata = base.clone();
  new Headers(header).forEach((value, key) => {
    if (key.endsWith("-bin")) {
      metadata.remove(key);
      for (const part of value.split(",")) metadata.add(key, Buffer.from(part.trim(), "base64"));
    } else {
      metadata.set(key, value);
    }
  });
  return metadata;
}

/** grpc-js metadata as fetch headers; `-bin` values as unpadded base64. What a header can't hold is left out. */
export function toHeaders(metadata: Metadata | undefined): Headers {
  const headers = new Headers();
  if (metadata === undefined) return headers;
  for (const [key, values] of Object.entries(metadata.toJSON())) {
    for (const value of values) {
      try {
        headers.append(key, typeof value === "string" ? value : value.toString("base64").replace(/=+$/, ""));
      } catch {
        // An illegal value of some proxy must not hide the answer.
      }
    }
  }
  return headers;
}
