import type { z } from "zod";
import { ConfigError } from "./config-error.js";
import { allowedValues, type ConfigOf, flagName, type OptionTable, valueType, variableName } from "./option.js";
import { suggest } from "./suggest.js";

export const VARIABLE_PREFIX = "REVERIE_";

/** Where values may come from; flags win over variables, variables over the file. */
export interface ConfigSources {
  /** By option key; the text of a flag, or true for a boolean flag without one. */
  readonly flags?: Readonly<Record<string, string | boolean>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly file?: ConfigFile;
}

/** A parsed YAML file. */
export interface ConfigFile {
  /** As the operator wrote it; appears in messages. */
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** 1-based line of each key. */
  readonly lines: Readonly<Record<string, number>>;
}

export interface ParsedConfig<T extends OptionTable> {
  readonly config: ConfigOf<T>;
  /** Worth a line on stderr, but no reason to refuse. */
  readonly warnings: readonly string[];
}

interface Found {
  readonly value: unknown;
  /** The text as it was given. */
  readonly shown: string;
  readonly source: string;
}

/** Pure: touches neither process nor disk. Throws a `ConfigError` that names every problem. */
export function parseOptions<T extends OptionTable>(table: T, sources: ConfigSources): ParsedConfig<T> {
  const problems: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [key, spec] of Object.entries(table)) {
    const found = find(key, spec.schema, sources);
    if (found === undefined) {
      config[key] = spec.default;
      continue;
    }
    const result = spec.schema.safeParse(found.value);
    if (result.success) config[key] = result.data;
    else problems.push(problem(key, spec.schema, spec.unit, found, result.error));
  }
  problems.push(...unknownFileKeys(table, sources.file));
  if (problems.length > 0) throw new ConfigError(problems);
  return { config: config as ConfigOf<T>, warnings: unknownVariables(table, sources.env) };
}

function find(key: string, schema: z.ZodType, sources: ConfigSources): Found | undefined {
  const flag = sources.flags?.[key];
  if (flag !== undefined) return fromText(flag, schema, `flag ${flagName(key)}`);
  const name = variableName(key, VARIABLE_PREFIX);
  const variable = sources.env?.[name];
  // An empty variable counts as unset: compose files and units pass those along.
  if (variable !== undefined && variable !== "") return fromText(variable, schema, `environment variable ${name}`);
  const file = sources.file;
  if (file !== undefined && Object.hasOwn(file.values, key)) {
    const value = file.values[key];
    return {
      value,
      shown: JSON.stringify(value) ?? String(value),
      source: `${file.path} line ${file.lines[key] ?? "?"}`,
    };
  }
  return undefined;
}

function fromText(text: string | boolean, schema: z.ZodType, source: string): Found {
  if (typeof text === "boolean") return { value: text, shown: String(text), source };
  const shown = JSON.stringify(text);
  switch (valueType(schema)) {
    case "number":
      return { value: /^\s*[+-]?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : text, shown, source };
    case "boolean":
      if (/^(true|1|yes|on)$/i.test(text)) return { value: true, shown, source };
      return { value: /^(false|0|no|off)$/i.test(text) ? false : text, shown, source };
    case "list": {
      const items = text.split(",").map((item) => item.trim());
      return { value: items.filter((item) => item !== ""), shown, source };
    }
    default:
      return { value: text, shown, source };
  }
}

function problem(key: string, schema: z.ZodType, unit: string | undefined, found: Found, error: z.ZodError): string {
  const values = allowedValues(schema);
  const rules =
    values === undefined
      ? [...new Set(error.issues.map((issue) => lowerFirst(issue.message)))].join("; ")
      : `must be one of ${values.join(", ")}`;
  const measured = unit === undefined ? "" : ` (${unit})`;
  return `${key}: ${found.shown} from ${found.source} is refused: ${rules}${measured}`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function unknownFileKeys(table: OptionTable, file: ConfigFile | undefined): string[] {
  if (file === undefined) return [];
  const known = Object.keys(table);
  return Object.keys(file.values)
    .filter((key) => !Object.hasOwn(table, key))
    .map((key) => {
      const meant = suggest(key, known);
      const advice = meant === undefined ? `known keys are ${known.join(", ")}` : `did you mean ${meant}?`;
      return `${key}: unknown key in ${file.path} line ${file.lines[key] ?? "?"}; ${advice}`;
    });
}

// Clients read REVERIE_ variables too, so an unknown one is only worth a hint when it looks like a slip.
function unknownVariables(table: OptionTable, env: ConfigSources["env"]): string[] {
  const known = [...Object.keys(table), "config"].map((key) => variableName(key, VARIABLE_PREFIX));
  const warnings: string[] = [];
  for (const name of Object.keys(env ?? {})) {
    if (!name.startsWith(VARIABLE_PREFIX) || known.includes(name)) continue;
    const meant = suggest(
      name.slice(VARIABLE_PREFIX.length),
      known.map((other) => other.slice(VARIABLE_PREFIX.length)),
    );
    if (meant !== undefined) {
      warnings.push(`environment variable ${name} is not used; did you mean ${VARIABLE_PREFIX}${meant}?`);
    }
  }
  return warnings;
}
