import { Code } from "@connectrpc/connect";
import { ErrorReason } from "@reverie/proto/info";
import { Kind } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { contract, stream } from "./support/contract.js";
import { failureOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";
import { exported, imported, jsonl } from "./support/transfer.js";

const line = (id: string, more: object = {}) => ({ id, kind: "episodic", text: `text ${id}`, ts: 5, ...more });

contract("ImportOwner", (api) => {
  it("passes over blank and control lines, and takes a last line without newline", async () => {
    const owner = api.owner();
    const answer = await imported(
      api,
      owner,
      `${jsonl({ head: { seq: 9, floor: 3 }, crc: 1 }, "", line("a"), { forget: "a", hash: "00", seq: 4, crc: 2 }, "  \r", { cleared: ["00"], seq: 5 })}${JSON.stringify(line("b"))}`,
    );
    expect(answer).toMatchObject({ stored: 2n, refused: 0n, skippedLines: 5n });
    expect((await recall(api, owner)).texts).toEqual(["text b", "text a"]);
    expect(answer.lastSeq - answer.firstSeq).toBe(1n);
  });

  it("drops what the log of another owner added", async () => {
    const [first, owner] = [api.owner(), api.owner()];
    await api.remember(first);
    const control = {
      seq: 900_719_925,
      ord: -5,
      late: true,
      crc: 7,
      meta0: "0000000000000000",
      was: { at: 0, len: 9 },
    };
    const answer = await imported(api, owner, jsonl(line("a", { ...control, extra: [1], meta: { b: 1 } })));
    expect(answer).toMatchObject({ stored: 1n });
    expect(answer.firstSeq).toBeLessThan(1_000n);
    expect((await api.memory.getEntry({ owner, id: "a" })).entry).toMatchObject({
      text: "text a",
      tsMs: 5n,
      metaJson: '{"b":1}',
      seq: answer.firstSeq,
    });
    const { lines } = await exported(api, owner);
    expect(lines[0]).not.toMatchObject({ seq: control.seq });
    expect(
      await api.memory.remember({
        owner,
        entry: { id: "a", kind: Kind.EPISODIC, text: "text a", metaJson: '{"b":1}' },
      }),
    ).toMatchObject({
      alreadyStored: true,
    });
  });

  it("counts what is refused, and says which line and why", async () => {
    const owner = api.owner();
    await api.owners.attach({ owner, config: { allowedKinds: [Kind.EPISODIC] } });
    await api.remember(owner, { id: "live" });
    await api.remember(owner, { id: "gone", text: "text gone" });
    await api.memory.forget({ owner, id: "gone" });
    const { refusedItems, ...counts } = await imported(
      api,
      owner,
      jsonl(
        line("a"),
        "not JSON",
        "",
        line("live"),
        line("gone"),
        line("empty", { text: "" }),
        { id: "textless", kind: "episodic", ts: 5 },
        line("dreams", { kind: "dreams" }),
        line("s", { kind: "semantic" }),
        line("a\n"),
        line("early", { ts: -1 }),
        '{"id":"twice","kind":"episodic","text":"t","ts":1,"meta":{"a":1,"a":2}}',
        "[1]",
        line("b"),
      ),
    );
    expect(counts).toMatchObject({ stored: 2n, alreadyStored: 0n, refused: 11n, skippedLines: 1n, stopped: false });
    expect(refusedItems.map(({ index, id, reason }) => [Number(index), id, ErrorReason[reason]])).toEqual([
      [1, "", "FIELD_INVALID"],
      [3, "live", "ENTRY_EXISTS"],
      [4, "gone", "ENTRY_FORGOTTEN"],
      [5, "empty", "TEXT_INVALID"],
      [6, "textless", "FIELD_INVALID"],
      [7, "dreams", "FIELD_INVALID"],
      [8, "s", "KIND_NOT_ALLOWED"],
      [9, "a\n", "ENTRY_ID_INVALID"],
      [10, "early", "FIELD_INVALID"],
      [11, "twice", "META_INVALID"],
      [12, "", "FIELD_INVALID"],
    ]);
    expect((await recall(api, owner, { text: "text" })).texts).toEqual(["text b", "text a"]);
  });

  it("stops after 1,000 refusals", async () => {
    const owner = api.owner();
    const bytes = jsonl(
      line("before"),
      ...Array.from({ length: 1_000 }, () => "{}"),
      line("after"),
      ...Array(5_000).fill("{}"),
    );
    const answer = await imported(api, owner, bytes, 500);
    expect(answer).toMatchObject({ stored: 1n, refused: 1_000n, stopped: true });
    expect(answer.refusedItems).toHaveLength(1_000);
    expect((await recall(api, owner)).texts).toEqual(["text before"]);
  });

  it("needs one owner, in the first message", async () => {
    const lines = Buffer.from(jsonl(line("a")));
    const [owner, other] = [api.owner(), api.owner()];
    for (const messages of [
      [],
      [{ lines }],
      [
        { owner, lines },
        { owner: other, lines },
      ],
    ]) {
      expect(await failureOf(api.memory.importOwner(stream(...messages)))).toMatchObject({
        code: Code.InvalidArgument,
        reason: "FIELD_INVALID",
        fields: ["owner"],
      });
    }
    expect(await api.memory.importOwner(stream({ owner, lines }, { owner, lines }))).toMatchObject({ stored: 1n });
  });
});
