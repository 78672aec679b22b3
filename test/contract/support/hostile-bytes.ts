import { clone, create, createFileRegistry, type DescFile } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Type,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { MemoryService } from "@reverie/proto/memory";
import type { Api } from "./contract.js";

// On the wire a string is its bytes: with every string declared as bytes, a client sends what no string can hold.
const rawService = withBytesForStrings();

/** A request of one unary method, its strings given as bytes where they aren't text. */
export interface RawRequest {
  readonly method: "Remember" | "Forget" | "GetEntry" | "ListEntries" | "PatchMeta";
  readonly message: object;
}

/** Calls a method of MemoryService with bytes in place of strings, over whatever transport this is. */
export function callRaw(api: Api, { method, message }: RawRequest): Promise<unknown> {
  if (api.transport.name === "connect-json") return postJson(api, method, message);
  const client = createClient(rawService, api.channel) as Client<typeof MemoryService>;
  const name = (method[0].toLowerCase() + method.slice(1)) as "remember";
  return client[name](mapLeaves(message, (leaf) => (typeof leaf === "string" ? Buffer.from(leaf) : leaf)) as never);
}

/** As JSON whose strings hold these very bytes, not as the base64 that a field of bytes has. */
async function postJson(api: Api, method: string, message: object): Promise<void> {
  const raw: Uint8Array[] = [];
  const withMarks = mapLeaves(message, (leaf) => (leaf instanceof Uint8Array ? `<raw ${raw.push(leaf) - 1}>` : leaf));
  const text = JSON.stringify(withMarks);
  const parts = text.split(/<raw (\d+)>/).map((part, i) => (i % 2 === 0 ? Buffer.from(part) : raw[Number(part)]));
  const answer = await fetch(`http://${api.server.http}/${MemoryService.typeName}/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: Buffer.concat(parts),
  });
  const body = await answer.text();
  if (!answer.ok) throw errorFromJson(body);
}

interface JsonError {
  readonly code: string;
  readonly message: string;
  readonly details?: readonly { type: string; value: string }[];
}

function errorFromJson(body: string): ConnectError {
  const { code, message, details = [] } = JSON.parse(body) as JsonError;
  const error = new ConnectError(message, codes.indexOf(code) + 1);
  error.details = details.map(({ type, value }) => ({ type, value: Buffer.from(value, "base64") }));
  return error;
}

/** In the order of their numbers. */
const codes = [
  ...["canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists"],
  ...["permission_denied", "resource_exhausted", "failed_precondition", "aborted", "out_of_range"],
  ...["unimplemented", "internal", "unavailable", "data_loss", "unauthenticated"],
];

function mapLeaves(value: unknown, map: (leaf: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return map(value);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapLeaves(inner, map)]));
}

function withBytesForStrings(): typeof MemoryService {
  const files = new Map<string, FileDescriptorProto>();
  const add = (file: DescFile): void => {
    for (const dependency of file.dependencies) add(dependency);
    const proto = clone(FileDescriptorProtoSchema, file.proto);
    if (proto.package === "reverie.memory.v1") {
      const fields = proto.messageType.flatMap(({ field }) => field);
      for (const field of fields)
        if (field.type === FieldDescriptorProto_Type.STRING) field.type = FieldDescriptorProto_Type.BYTES;
    }
    files.set(proto.name, proto);
  };
  add(MemoryService.file);
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...files.values()] }));
  return registry.getService(MemoryService.typeName) as unknown as typeof MemoryService;
}
