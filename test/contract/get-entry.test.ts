import { Code } from "@connectrpc/connect";
import { Kind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract } from "./support/contract.js";
import { failureOf } from "./support/failure.js";

contract("GetEntry", (api) => {
  it("reads one, whatever its kind", async () => {
    const owner = api.owner();
    await api.remember(owner);
    const entry = await api.remember(owner, { id: "a", kind: Kind.WORKING });
    const answer = await api.memory.getEntry({ owner, id: "a", minSeq: entry.seq });
    expect(answer).toMatchObject({ entry, copies: 1, seq: entry.seq });
  });

  it("says so when there is no such entry", async () => {
    const owner = api.owner();
    const missing = { code: Code.NotFound, reason: "ENTRY_NOT_FOUND", metadata: { id: "a" } };
    expect(await failureOf(api.memory.getEntry({ owner, id: "a" }))).toMatchObject(missing);
    await api.remember(owner, { id: "A" });
    expect(await failureOf(api.memory.getEntry({ owner, id: "a" }))).toMatchObject(missing);
    await api.memory.forget({ owner, id: "A" });
    expect(await failureOf(api.memory.getEntry({ owner, id: "A" }))).toMatchObject({ reason: "ENTRY_NOT_FOUND" });
    expect(await failureOf(api.memory.getEntry({ owner: api.owner(), id: "a" }))).toMatchObject(missing);
  });

  it("needs an id of at most 4,096 bytes and a reachable seq", async () => {
    const owner = api.owner();
    const failure = await failureOf(api.memory.getEntry({ owner, id: "x".repeat(4_097) }));
    expect(failure).toMatchObject({ code: Code.InvalidArgument, reason: "FIELD_INVALID", fields: ["id"] });
    expect(await failureOf(api.memory.getEntry({ owner }))).toMatchObject({ reason: "ENTRY_NOT_FOUND" });
    expect(await failureOf(api.memory.getEntry({ owner, id: "\n".repeat(4_096) }))).toMatchObject({
      reason: "ENTRY_NOT_FOUND",
    });
    expect(await failureOf(api.memory.getEntry({ owner, id: "a", minSeq: 1n }))).toMatchObject({
      reason: "SEQ_NOT_REACHED",
    });
  });
});
