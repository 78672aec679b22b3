import { ReverieError } from "@reverie/service-kit/errors";
import { KINDS, type Kind, type OwnerConfig } from "../store.js";
import { errorCode, type Fs } from "./fs.js";

const FILE = ".reverie.json";

export const ownerConfigPath = (directory: string): string => `${directory}/${FILE}`;
export const isOwnerConfigFile = (name: string): boolean => name === FILE || name === `${FILE}.tmp`;

/** undefined when the owner has none of its own. CONFIG_UNREADABLE when it can't be understood: nothing is guessed. */
export async function readOwnerConfig(fs: Fs, directory: string): Promise<OwnerConfig | undefined> {
  let text: string;
  try {
    text = (await fs.readFile(ownerConfigPath(directory))).toString();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    return check(JSON.parse(text) as unknown);
  } catch {
    throw new ReverieError(
      "CONFIG_UNREADABLE",
      `the owner's stored config (${FILE}) can't be understood; the operator mends or removes that file`,
    );
  }
}

export function formatOwnerConfig(config: OwnerConfig): string {
  const { allowedKinds, maxEpisodicBytes, maxSemanticBytes } = config;
  return `${JSON.stringify({ allowedKinds, maxEpisodicBytes, maxSemanticBytes }, undefined, 2)}\n`;
}

export function sameConfig(a: OwnerConfig, b: OwnerConfig): boolean {
  return formatOwnerConfig(sorted(a)) === formatOwnerConfig(sorted(b));
}

function sorted(config: OwnerConfig): OwnerConfig {
  return { ...config, allowedKinds: KINDS.filter((kind) => config.allowedKinds.includes(kind)) };
}

function check(value: unknown): OwnerConfig {
  const { allowedKinds, maxEpisodicBytes, maxSemanticBytes, ...rest } = value as Record<string, unknown>;
  const kindsHold =
    Array.isArray(allowedKinds) &&
    allowedKinds.length > 0 &&
    allowedKinds.every((kind) => KINDS.includes(kind as Kind));
  if (!kindsHold || !isBytes(maxEpisodicBytes) || !isBytes(maxSemanticBytes) || Object.keys(rest).length > 0)
    throw new Error(FILE);
  return { allowedKinds: allowedKinds as Kind[], maxEpisodicBytes, maxSemanticBytes };
}

function isBytes(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
