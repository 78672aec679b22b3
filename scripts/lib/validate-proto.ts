import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
} from "@bufbuild/protobuf/wkt";
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

/**
 * buf.validate's schema is in no npm package as a .proto file, but its
 * descriptor is: print back the part that a compiler needs (no options).
 */
export function printValidateProto(): string {
  const file = file_buf_validate_validate.proto;
  const out: string[] = [`syntax = "proto2";`, `package ${file.package};`];
  for (const path of file.dependency) out.push(`import "${path}";`);
  for (const type of file.enumType) printEnum(type, "", out);
  for (const type of file.messageType) printMessage(type, "", out);
  for (const ext of file.extension) {
    out.push(`extend ${ext.extendee} {`, `  ${printField(ext)}`, "}");
  }
  return `${out.join("\n")}\n`;
}

function printEnum(type: EnumDescriptorProto, indent: string, out: string[]): void {
  out.push(`${indent}enum ${type.name} {`);
  if (type.options?.allowAlias) out.push(`${indent}  option allow_alias = true;`);
  for (const value of type.value) out.push(`${indent}  ${value.name} = ${value.number};`);
  out.push(`${indent}}`);
}

function printMessage(type: DescriptorProto, indent: string, out: string[]): void {
  out.push(`${indent}message ${type.name} {`);
  for (const nested of type.nestedType) printMessage(nested, `${indent}  `, out);
  for (const nested of type.enumType) printEnum(nested, `${indent}  `, out);
  for (const range of type.extensionRange)
    out.push(`${indent}  extensions ${range.start} to ${range.end === 0x20000000 ? "max" : range.end - 1};`);
  for (const range of type.reservedRange) out.push(`${indent}  reserved ${range.start} to ${range.end - 1};`);
  for (const field of type.field) {
    if (!inOneof(field)) out.push(`${indent}  ${printField(field)}`);
  }
  type.oneofDecl.forEach((oneof, index) => {
    out.push(`${indent}  oneof ${oneof.name} {`);
    for (const field of type.field) {
      if (inOneof(field) && field.oneofIndex === index) out.push(`${indent}    ${printField(field, false)}`);
    }
    out.push(`${indent}  }`);
  });
  out.push(`${indent}}`);
}

function inOneof(field: FieldDescriptorProto): boolean {
  return Object.hasOwn(field, "oneofIndex") && !field.proto3Optional;
}

function printField(field: FieldDescriptorProto, withLabel = true): string {
  const label = withLabel ? `${FieldDescriptorProto_Label[field.label].toLowerCase()} ` : "";
  const type = field.typeName === "" ? FieldDescriptorProto_Type[field.type].toLowerCase() : field.typeName;
  return `${label}${type} ${field.name} = ${field.number};`;
}
