import { isMap, isScalar, LineCounter, parseDocument } from "yaml";
import { ConfigError } from "./config-error.js";
import type { ConfigFile } from "./parse-options.js";

/** Parses YAML text (JSON is YAML) that holds one map of options. */
export function parseConfigFile(path: string, text: string): ConfigFile {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  if (document.errors.length > 0) {
    throw new ConfigError(
      document.errors.map((error) => `${path} line ${lineCounter.linePos(error.pos[0]).line}: ${error.message}`),
    );
  }
  const values: Record<string, unknown> = {};
  const lines: Record<string, number> = {};
  if (document.contents === null) return { path, values, lines };
  if (!isMap(document.contents)) {
    throw new ConfigError([`${path}: must hold one map of options, such as "dataDir: ./data"`]);
  }
  for (const { key, value } of document.contents.items) {
    if (!isScalar(key)) throw new ConfigError([`${path}: every key must be plain text`]);
    const name = String(key.value);
    // defineProperty: a key named __proto__ must stay an unknown key.
    Object.defineProperty(values, name, { value: toPlain(value), enumerable: true });
    lines[name] = lineCounter.linePos(key.range?.[0] ?? 0).line;
  }
  return { path, values, lines };
}

function toPlain(node: unknown): unknown {
  if (node !== null && typeof node === "object" && "toJSON" in node && typeof node.toJSON === "function") {
    return node.toJSON() as unknown;
  }
  return node;
}
