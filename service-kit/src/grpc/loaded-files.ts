import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type DescriptorProto, type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/**
 * A file descriptor as proto-loader carries it, made what other languages' tools accept: type names absolute, and
 * map entries named as protoc names them.
 */
export function repairLoadedFile(bytes: Uint8Array): Buffer {
  const file = fromBinary(FileDescriptorProtoSchema, bytes);
  const known = new Set<string>();
  for (const message of file.messageType) nameTypes(message, `.${file.package}`, known);
  for (const type of file.enumType) known.add(`.${file.package}.${type.name}`);
  for (const message of file.messageType) resolveFields(message, `.${file.package}`, known);
  resolveMethods(file, known);
  return Buffer.from(toBinary(FileDescriptorProtoSchema, file));
}

function nameTypes(message: DescriptorProto, scope: string, known: Set<string>): void {
  const name = `${scope}.${message.name}`;
  known.add(name);
  for (const entry of message.nestedType) {
    if (entry.options?.mapEntry === true && !entry.name.endsWith("Entry")) {
      for (const field of message.field) if (field.typeName === entry.name) field.typeName = `${entry.name}Entry`;
      entry.name += "Entry";
    }
    nameTypes(entry, name, known);
  }
  for (const type of message.enumType) known.add(`${name}.${type.name}`);
}

function resolveFields(message: DescriptorProto, scope: string, known: ReadonlySet<string>): void {
  const name = `${scope}.${message.name}`;
  for (const field of message.field) if (field.typeName !== "") field.typeName = absolute(field.typeName, name, known);
  for (const nested of message.nestedType) resolveFields(nested, name, known);
}

function resolveMethods(file: FileDescriptorProto, known: ReadonlySet<string>): void {
  for (const method of file.service.flatMap((service) => service.method)) {
    method.inputType = absolute(method.inputType, `.${file.package}`, known);
    method.outputType = absolute(method.outputType, `.${file.package}`, known);
  }
}

/** A name is looked for in the scope where it stands, then in each scope around that. */
function absolute(name: string, scope: string, known: ReadonlySet<string>): string {
  if (name.startsWith(".")) return name;
  for (let around = scope; around !== ""; around = around.slice(0, around.lastIndexOf("."))) {
    if (known.has(`${around}.${name}`)) return `${around}.${name}`;
  }
  return `.${name}`;
}
