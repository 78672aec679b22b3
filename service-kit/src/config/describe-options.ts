import { allowedValues, flagName, type OptionTable, valueType, variableName } from "./option.js";
import { VARIABLE_PREFIX } from "./parse-options.js";

/** One row of a documentation table. */
export interface OptionDescription {
  readonly key: string;
  readonly flag: string;
  readonly variable: string;
  readonly type: string;
  /** Empty when there is none. */
  readonly default: string;
  readonly unit: string;
  readonly help: string;
}

export function describeOptions(table: OptionTable): OptionDescription[] {
  return Object.entries(table).map(([key, spec]) => ({
    key,
    flag: flagName(key),
    variable: variableName(key, VARIABLE_PREFIX),
    type: allowedValues(spec.schema)?.join(" | ") ?? valueType(spec.schema),
    default: spec.default === undefined ? "" : String(spec.default),
    unit: spec.unit ?? "",
    help: spec.help,
  }));
}
