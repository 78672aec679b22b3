import { readFileSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import { beforeAll, expect, it } from "vitest";
import { contract } from "./support/contract.js";
import { failureOf } from "./support/failure.js";
import { hostileTables, statusName } from "./support/hostile-case.js";
import { hostileCases } from "./support/hostile-cases.js";
import { DirectoryContents } from "./support/hostile-directory.js";
import { recall } from "./support/recalled.js";

/** A message says what to do, or leaves no doubt about it. */
const advice =
  /must|is required|send|use that|start again|list the|replace|restored from|name the kinds|no live entry|mends or removes|valid for encoding utf-8|invalid UTF8/;

contract("Hostile input", (api) => {
  const bystander = api.owner("bystander");
  let files: DirectoryContents;
  beforeAll(async () => {
    files = new DirectoryContents(api.server.dataDir);
    await api.remember(bystander, { id: "a", text: "untouched" });
  });

  const carried = hostileCases.filter(({ jsonOnly }) => !jsonOnly || api.transport.name === "connect-json");
  it.each(
    carried.map(({ field, input, calls, answer, act }) => [`${field}: ${input}, to ${calls}`, answer, act] as const),
  )("%s: %s", async (_, answer, act) => {
    const calls = await act({ api, owner: api.owner() });
    const before = files.now();
    for (const call of calls) {
      if (answer === "OK") {
        await call();
        continue;
      }
      const failure = await failureOf(call());
      expect(`${statusName(Code[failure.code] as keyof typeof Code)} ${failure.reason}`).toBe(answer);
      expect(failure.message).toMatch(advice);
      expect(files.now()).toEqual(before);
    }
    expect((await recall(api, bystander)).texts).toEqual(["untouched"]);
    expect((await api.owners.describe({ owner: bystander })).writable).toBe(true);
  });
});

it("docs/hostile-input.md lists each hostile input with its answer", () => {
  const page = readFileSync(new URL("../../docs/hostile-input.md", import.meta.url), "utf8");
  const begin = "<!-- cases: what test/contract/support/hostile-cases.ts says -->\n\n";
  // The tables to paste are in the failure's message.
  expect(page.split(begin)[1]?.split("\n\n<!-- end of cases -->")[0]).toBe(hostileTables(hostileCases));
});
