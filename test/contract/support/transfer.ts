import type { ExportSummary, Kind } from "@reverie/proto/memory";
import { type Api, type OwnerInit, stream } from "./contract.js";

export interface Exported {
  readonly chunks: readonly Uint8Array[];
  readonly bytes: Buffer;
  readonly lines: readonly { id: string; kind: string; text: string; ts: number; [key: string]: unknown }[];
  readonly summary: ExportSummary;
}

/** A whole export. Fails unless the summary comes once, and last. */
export async function exported(api: Api, owner: OwnerInit, kinds: Kind[] = []): Promise<Exported> {
  const chunks: Uint8Array[] = [];
  let summary: ExportSummary | undefined;
  for await (const { event } of api.memory.exportOwner({ owner, kinds })) {
    if (summary !== undefined) throw new Error("something follows the summary");
    if (event.case === "summary") summary = event.value;
    else if (event.case === "lines") chunks.push(event.value);
  }
  if (summary === undefined) throw new Error("there is no summary");
  const bytes = Buffer.concat(chunks);
  const lines = bytes
    .toString("utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  return { chunks, bytes, lines, summary };
}

/** Imports bytes cut into messages of this size, wherever that falls. */
export function imported(api: Api, owner: OwnerInit, bytes: Uint8Array | string, messageBytes = 100_000) {
  const whole = Buffer.from(bytes);
  const messages: { owner?: OwnerInit; lines: Uint8Array }[] = [];
  for (let at = 0; at < whole.length; at += messageBytes)
    messages.push({ lines: whole.subarray(at, at + messageBytes) });
  return api.memory.importOwner(stream({ owner, lines: new Uint8Array(0) }, ...messages));
}

/** Values, one a line; strings stand as they are. */
export const jsonl = (...lines: unknown[]): string =>
  lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
