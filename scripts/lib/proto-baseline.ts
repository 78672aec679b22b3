import { git } from "./git.js";

export type ProtoBaseline = { readonly commit: string } | { readonly none: string };

/**
 * The commit whose .proto files a change must stay compatible with: where this
 * branch left main, or, on main itself, the commit before the last one unless the
 * .proto files have uncommitted changes. A checkout that knows no main (CI's
 * detached head) counts as main.
 */
export function findProtoBaseline(repo: string): ProtoBaseline {
  const ask = (...args: string[]): string | undefined => {
    try {
      return git(repo, ...args);
    } catch {
      return undefined;
    }
  };
  // Says why when git won't work here at all, such as a checkout that somebody else owns.
  git(repo, "rev-parse", "--is-inside-work-tree");
  const head = ask("rev-parse", "--verify", "--quiet", "HEAD");
  if (head === undefined) return { none: "there is no commit yet" };
  const mains = ["refs/heads/main", "refs/remotes/origin/main"].filter((ref) =>
    ask("rev-parse", "--verify", "--quiet", ref),
  );
  // With two mains, of which one may be old, this is the newest commit shared with either.
  const fork = mains.length > 0 ? ask("merge-base", "HEAD", ...mains) : undefined;
  const changed = ask("status", "--porcelain", "--", "proto") !== "";
  const commit =
    fork !== undefined && fork !== head ? fork : changed ? head : ask("rev-parse", "--verify", "--quiet", "HEAD^1");
  if (commit === undefined) return { none: "this is the first commit that the checkout has" };
  if (ask("cat-file", "-e", `${commit}:proto`) === undefined)
    return { none: `${commit.slice(0, 12)} has no proto directory` };
  return { commit };
}
