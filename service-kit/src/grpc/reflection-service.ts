import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Server, ServiceDefinition } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { ErrorInfoSchema, StatusSchema } from "@reverie/proto/rpc";
import { service as healthDefinition } from "grpc-health-check";
import { repairLoadedFile } from "./loaded-files.js";

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

interface ReflectionIndex {
  readonly files: Record<string, object>;
  readonly fileEncodings: Map<object, Uint8Array>;
}

/** Server reflection v1 and v1alpha of these services, of health and of itself, with every file that they import. */
export function addReflection(server: Server, services: readonly DescService[]): void {
  const files = new Map<string, Buffer>();
  for (const service of services) collect(service.file, files);
  // What errors carry, so that a client can show it.
  for (const schema of [StatusSchema, ErrorInfoSchema]) collect(schema.file, files);
  const library = [healthDefinition as ServiceDefinition, ...ownDefinitions()];
  const definition = {
    services: { fileDescriptorProtos: [...files.values()] },
    library: { fileDescriptorProtos: library.flatMap(loadedFiles).map(repairLoadedFile) },
  } as unknown as PackageDefinition;
  const reflection = new ReflectionService(definition, {
    services: [...services.map((service) => service.typeName), ...library.map(serviceName)],
  });
  keepOptions(reflection, files);
  reflection.addToServer(server);
}

function collect(file: DescFile, into: Map<string, Buffer>): void {
  const name = file.proto.name;
  if (into.has(name)) return;
  into.set(name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
  for (const dependency of file.dependencies) collect(dependency, into);
}

// What the library would add to a server, to reflect on that as well.
function ownDefinitions(): ServiceDefinition[] {
  const definitions: ServiceDefinition[] = [];
  const recorder = { addService: (definition: ServiceDefinition) => void definitions.push(definition) };
  new ReflectionService({}).addToServer(recorder as unknown as Server);
  return definitions;
}

// Definitions that proto-loader made carry the files that they came from.
function loadedFiles(definition: ServiceDefinition): Buffer[] {
  const methods = Object.values(definition) as { requestType?: { fileDescriptorProtos?: Buffer[] } }[];
  return methods[0]?.requestType?.fileDescriptorProtos ?? [];
}

function serviceName(definition: ServiceDefinition): string {
  return Object.values(definition)[0]?.path.split("/")[1] ?? "";
}

// The library decodes and encodes each file again and loses what it doesn't know, the validation rules for one. Where
// its index looks as expected it gets the files as they were.
function keepOptions(reflection: ReflectionService, files: ReadonlyMap<string, Buffer>): void {
  for (const index of Object.values(reflection) as Partial<ReflectionIndex>[]) {
    if (index.files === undefined || !(index.fileEncodings instanceof Map)) continue;
    for (const [name, file] of Object.entries(index.files)) {
      const bytes = files.get(name);
      if (bytes !== undefined) index.fileEncodings.set(file, bytes);
    }
  }
}
