import { KINDS, type Kind, type OwnerConfig } from "../store/store.js";

/** The kinds to read: those asked for (none named: all) that the config allows; perhaps none. In a fixed order. */
export function readableKinds(asked: readonly Kind[], config: OwnerConfig): Kind[] {
  return KINDS.filter((kind) => config.allowedKinds.includes(kind) && (asked.length === 0 || asked.includes(kind)));
}

/** The kinds asked for, each once; none named: all, whatever a config allows. */
export function namedKinds(asked: readonly Kind[]): Kind[] {
  return KINDS.filter((kind) => asked.length === 0 || asked.includes(kind));
}
