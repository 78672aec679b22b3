import type { z } from "zod";

/** One setting of a service. Its key names the unit, such as `drainMs`. */
export interface OptionSpec<S extends z.ZodType = z.ZodType> {
  /** A string, enum, number, boolean or array of strings, possibly optional. */
  readonly schema: S;
  /** Left out: the option may stay unset, and its schema must be optional. */
  readonly default?: z.output<S>;
  /** Such as `milliseconds` or `bytes`. */
  readonly unit?: string;
  /** One or two sentences for whoever runs the service. */
  readonly help: string;
  /** What the value stands for in `--help`, such as `host:port`. */
  readonly valueName?: string;
}

export type OptionTable = Readonly<Record<string, OptionSpec>>;

/** The parsed values of a table. */
export type ConfigOf<T extends OptionTable> = { readonly [K in keyof T]: z.output<T[K]["schema"]> };

export function option<S extends z.ZodType>(spec: OptionSpec<S>): OptionSpec<S> {
  return spec;
}

export function defineOptions<T extends OptionTable>(table: T): T {
  return table;
}

/** Names that every service's command line has besides its options. */
export const RESERVED_KEYS: readonly string[] = ["config", "help", "version"];

export type ValueType = "string" | "number" | "boolean" | "list";

/** How the text of a flag or variable becomes a value. */
export function valueType(schema: z.ZodType): ValueType {
  let def = schema.def as { type: string; innerType?: z.ZodType; in?: z.ZodType };
  for (;;) {
    const inner = def.innerType ?? def.in;
    if (inner === undefined) break;
    def = inner.def as typeof def;
  }
  if (def.type === "number" || def.type === "int") return "number";
  if (def.type === "boolean") return "boolean";
  return def.type === "array" ? "list" : "string";
}

/** The values of an enum, also of one that is optional. */
export function allowedValues(schema: z.ZodType): readonly string[] | undefined {
  let def = schema.def as { type: string; innerType?: z.ZodType; entries?: Record<string, string> };
  while (def.innerType !== undefined) def = def.innerType.def as typeof def;
  return def.type === "enum" && def.entries !== undefined ? Object.values(def.entries) : undefined;
}

/** `dataDir` → `--data-dir`. */
export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `dataDir` → `REVERIE_DATA_DIR`. */
export function variableName(key: string, prefix: string): string {
  return prefix + key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
