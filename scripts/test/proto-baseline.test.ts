import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { git } from "../lib/git.js";
import { findProtoBaseline } from "../lib/proto-baseline.js";
import { withTempDir } from "../lib/repo.js";

const identity = [
  "-c",
  "user.name=test",
  "-c",
  "user.email=test@example.invalid",
  "-c",
  "protocol.file.allow=always",
  "-c",
  "core.hooksPath=/dev/null",
  "-c",
  "commit.gpgSign=false",
];

class Repo {
  constructor(readonly dir: string) {}

  git(...args: string[]): string {
    return git(this.dir, ...identity, ...args);
  }

  change(text: string): void {
    mkdirSync(join(this.dir, "proto"), { recursive: true });
    writeFileSync(join(this.dir, "proto/a.proto"), text);
  }

  commit(text: string): string {
    this.change(text);
    this.git("add", ".");
    this.git("commit", "--quiet", "--message", text);
    return this.git("rev-parse", "HEAD");
  }
}

function withRepo(use: (repo: Repo, dir: string) => void): Promise<void> {
  return withTempDir("baseline", (dir) => {
    const repo = new Repo(join(dir, "repo"));
    mkdirSync(repo.dir);
    repo.git("init", "--quiet", "--initial-branch=main");
    use(repo, dir);
  });
}

describe("the commit that .proto files are compared with", () => {
  it("is none before and on the first commit", () =>
    withRepo((repo) => {
      expect(findProtoBaseline(repo.dir)).toHaveProperty("none");
      repo.commit("one");
      expect(findProtoBaseline(repo.dir)).toHaveProperty("none");
    }));

  it("is the first commit once there are uncommitted changes", () =>
    withRepo((repo) => {
      const one = repo.commit("one");
      repo.change("two");
      expect(findProtoBaseline(repo.dir)).toEqual({ commit: one });
    }));

  it("is on main the commit before the last", () =>
    withRepo((repo) => {
      const one = repo.commit("one");
      repo.commit("two");
      expect(findProtoBaseline(repo.dir)).toEqual({ commit: one });
    }));

  it("is on a branch where it left main", () =>
    withRepo((repo) => {
      const one = repo.commit("one");
      repo.git("switch", "--quiet", "--create", "topic");
      repo.commit("two");
      repo.commit("three");
      repo.git("switch", "--quiet", "main");
      repo.commit("four");
      repo.git("switch", "--quiet", "topic");
      expect(findProtoBaseline(repo.dir)).toEqual({ commit: one });
    }));

  it("is the newer of main and origin/main", () =>
    withRepo((repo) => {
      repo.commit("one");
      const two = repo.commit("two");
      repo.git("update-ref", "refs/remotes/origin/main", two);
      repo.git("switch", "--quiet", "--create", "topic");
      repo.git("branch", "--force", "main", "HEAD^");
      repo.commit("three");
      expect(findProtoBaseline(repo.dir)).toEqual({ commit: two });
    }));

  it("is the parent on a detached head that knows no main, and in a clone of one branch", () =>
    withRepo((repo, dir) => {
      repo.commit("one");
      repo.git("switch", "--quiet", "--create", "topic");
      const two = repo.commit("two");
      repo.commit("three");
      repo.git("clone", "--quiet", "--single-branch", "--branch", "topic", repo.dir, join(dir, "clone"));
      const clone = new Repo(join(dir, "clone"));
      expect(findProtoBaseline(clone.dir)).toEqual({ commit: two });
      clone.git("switch", "--quiet", "--detach", "HEAD");
      clone.git("branch", "--delete", "--force", "topic");
      expect(findProtoBaseline(clone.dir)).toEqual({ commit: two });
    }));

  it("is none in a clone without history", () =>
    withRepo((repo, dir) => {
      repo.commit("one");
      repo.commit("two");
      repo.git("clone", "--quiet", "--depth=1", `file://${repo.dir}`, join(dir, "clone"));
      expect(findProtoBaseline(join(dir, "clone"))).toHaveProperty("none");
    }));
});
