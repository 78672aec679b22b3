import { invalidArgument } from "./errors.js";
import type { OwnerKind } from "./kinds.js";
import type { Owner } from "./owner.js";
import { checkOwnerId } from "./owner.js";

/** Who is asking. */
export interface ScopeContext {
  /** For `private`. */
  readonly agentId?: string | undefined;
  /** For `workflow`. */
  readonly runId?: string | undefined;
  /** For `user` without an id. */
  readonly userId?: string | undefined;
}

const FORMS = "private, workflow, user, user:<id>, shared:<group>, org or peer:<id>";
const BARE: Readonly<Record<string, readonly [OwnerKind, keyof ScopeContext]>> = Object.assign(Object.create(null), {
  private: ["agent", "agentId"],
  workflow: ["workflow-run", "runId"],
  user: ["user", "userId"],
});
const NAMED: Readonly<Record<string, OwnerKind>> = Object.assign(Object.create(null), {
  shared: "shared",
  user: "user",
  peer: "peer",
});

/**
 * The owner that a scope means for whoever asks: `private` (agent/<agentId>), `workflow` (workflow-run/<runId>),
 * `user` (user/<userId>), `user:<id>`, `shared:<group>`, `org` (org/self), `peer:<id>`. Case counts; nothing is trimmed.
 *
 * Throws SCOPE_INVALID for any other text, SCOPE_UNRESOLVED when the context lacks the id, and OWNER_ID_INVALID when the
 * id can't be one. There is no scope that means everybody.
 */
export function resolveScope(scope: string, context: ScopeContext = {}): Owner {
  if (scope === "org") return { kind: "org", id: "self" };
  const shown = JSON.stringify(scope);
  if (typeof scope !== "string") throw invalidArgument("SCOPE_INVALID", `The scope ${shown} is no text. Use ${FORMS}.`);
  const bare = BARE[scope];
  if (bare) {
    const [kind, key] = bare;
    const id = context[key];
    if (id === undefined || id === null || id === "") {
      throw invalidArgument(
        "SCOPE_UNRESOLVED",
        `The scope ${shown} needs ${key}, which isn't known here. Give ${key}.`,
        {
          metadata: { scope, missing: key },
        },
      );
    }
    checkOwnerId(id);
    return { kind, id };
  }
  const colon = scope.indexOf(":");
  const kind = colon < 0 ? undefined : NAMED[scope.slice(0, colon)];
  const id = scope.slice(colon + 1);
  if (kind === undefined || id === "") {
    throw invalidArgument("SCOPE_INVALID", `The scope ${shown} isn't known. Use ${FORMS}.`, { metadata: { scope } });
  }
  checkOwnerId(id);
  return { kind, id };
}
