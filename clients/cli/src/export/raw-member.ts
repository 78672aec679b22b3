const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

/** The text of a member of the object that `json` is, as it is written there, numbers with every digit; the last one. */
export function rawMember(json: string, name: string): string | undefined {
  let depth = 0;
  let key: string | undefined;
  let from = -1;
  let found: string | undefined;
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    const ends = depth === 1 && (token === "," || token === "}");
    if (ends && from >= 0) found = json.slice(from, index).trim();
    if (ends) [key, from] = [undefined, -1];
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth === 1 && token === ":" && key !== undefined && JSON.parse(key) === name && from < 0)
      from = index + 1;
    else if (depth === 1 && key === undefined && token.startsWith('"')) key = token;
  }
  return found;
}
