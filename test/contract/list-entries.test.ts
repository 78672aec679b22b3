import { toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Kind, ListEntriesResponseSchema, ListOrder } from "@reverie/proto/memory";
import { expect, it } from "vitest";
import { type Api, contract, type OwnerInit } from "./support/contract.js";
import { failureOf } from "./support/failure.js";

const NEWEST = ListOrder.NEWEST_FIRST;
const OLDEST = ListOrder.OLDEST_FIRST;

/** Entries t1 to t`count`, at times 10, 20, …. */
const timed = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `t${n + 1}`, tsMs: BigInt(n + 1) * 10n }));

async function page(api: Api, owner: OwnerInit, order: ListOrder, pageSize: number, pageToken = "") {
  const answer = await api.memory.listEntries({ owner, order, pageSize, pageToken });
  return { ids: answer.entries.map((entry) => entry.id), token: answer.nextPageToken, answer };
}

contract("ListEntries", (api) => {
  it("of an owner that doesn't exist is one empty page", async () => {
    expect(await api.memory.listEntries({ owner: api.owner() })).toMatchObject({
      entries: [],
      nextPageToken: "",
      seq: 0n,
    });
  });

  it("gives 100 a page when page_size is 0, at most 500", async () => {
    const owner = api.owner();
    await api.rememberAll(owner, timed(510));
    for (const [pageSize, expected] of [
      [0, 100],
      [7, 7],
      [500, 500],
      [501, 500],
    ] as const) {
      const { ids, token } = await page(api, owner, NEWEST, pageSize);
      expect([ids.length, ids[0], token === ""]).toEqual([expected, "t510", false]);
    }
    expect(await failureOf(page(api, owner, NEWEST, -1))).toMatchObject({
      code: Code.InvalidArgument,
      reason: "FIELD_INVALID",
      fields: ["page_size"],
    });
  });

  it.each([
    ["newest", NEWEST],
    ["newest by default", ListOrder.UNSPECIFIED],
    ["oldest", OLDEST],
  ])("pages through everything once, %s first", async (_, order) => {
    const owner = api.owner();
    const kinds = [Kind.EPISODIC, Kind.SEMANTIC, Kind.WORKING];
    const times = [5n, 9n, 5n, 1n, 5n, 7n, 5n, 9n, 1n, 5n, 5n];
    for (const [n, tsMs] of times.entries())
      await api.remember(owner, { id: `e${n}`, tsMs, kind: kinds[n % 3] as Kind });
    const oldest = ["e3", "e8", "e0", "e2", "e4", "e6", "e9", "e10", "e5", "e1", "e7"];
    const expected = order === OLDEST ? oldest : oldest.toReversed();
    for (const size of [1, 2, 3, 10, 11]) {
      const seen: string[] = [];
      let token = "";
      do {
        const next = await page(api, owner, order, size, token);
        seen.push(...next.ids);
        token = next.token;
      } while (token !== "");
      expect(seen).toEqual(expected);
    }
  });

  it("moves no page while entries are stored and forgotten, newest first", async () => {
    const owner = api.owner();
    await api.rememberAll(owner, timed(10));
    const first = await page(api, owner, NEWEST, 4);
    expect(first.ids).toEqual(["t10", "t9", "t8", "t7"]);
    // The page's last one, one of the page, and one to come.
    for (const id of ["t7", "t9", "t5"]) await api.memory.forget({ owner, id });
    await api.rememberAll(owner, [
      { id: "newer", tsMs: 1_000n },
      { id: "same-as-last", tsMs: 70n },
      { id: "between", tsMs: 65n },
      { id: "older", tsMs: 1n },
    ]);
    await api.memory.patchMeta({ owner, id: "t6", patchJson: '{"a":1}' });
    const second = await page(api, owner, NEWEST, 4, first.token);
    expect(second.ids).toEqual(["between", "t6", "t4", "t3"]);
    expect((await page(api, owner, NEWEST, 4, second.token)).ids).toEqual(["t2", "t1", "older"]);
  });

  it("moves no page while entries are stored and forgotten, oldest first", async () => {
    const owner = api.owner();
    await api.rememberAll(owner, timed(6));
    const first = await page(api, owner, OLDEST, 3);
    for (const id of ["t3", "t4"]) await api.memory.forget({ owner, id });
    await api.rememberAll(owner, [
      { id: "older", tsMs: 1n },
      { id: "same-as-last", tsMs: 30n },
      { id: "newer", tsMs: 1_000n },
    ]);
    const second = await page(api, owner, OLDEST, 3, first.token);
    expect(second.ids).toEqual(["same-as-last", "t5", "t6"]);
    expect((await page(api, owner, OLDEST, 3, second.token)).ids).toEqual(["newer"]);
  });

  it("lets the page size change on the way", async () => {
    const owner = api.owner();
    await api.rememberAll(owner, timed(6));
    const { token } = await page(api, owner, OLDEST, 1);
    expect((await page(api, owner, OLDEST, 500, token)).ids).toEqual(["t2", "t3", "t4", "t5", "t6"]);
  });

  it("refuses a token that isn't of this listing", async () => {
    const [owner, other] = [api.owner(), api.owner()];
    await api.rememberAll(owner, timed(5));
    await api.rememberAll(other, timed(5));
    const { nextPageToken: good } = await api.memory.listEntries({ owner, pageSize: 2, kinds: [Kind.EPISODIC] });
    const listing = { owner, kinds: [Kind.EPISODIC], pageToken: good };
    expect((await api.memory.listEntries(listing)).entries.map((entry) => entry.id)).toEqual(["t3", "t2", "t1"]);
    const flipped = (good[0] === "A" ? "B" : "A") + good.slice(1);
    const owners = await api.owners.listOwners({ kind: owner.kind, pageSize: 1 });
    const wrong = [
      { ...listing, pageToken: "x" },
      { ...listing, pageToken: "../../etc/passwd" },
      { ...listing, pageToken: "é".repeat(100) },
      { ...listing, pageToken: good.slice(0, -1) },
      { ...listing, pageToken: `${good}A` },
      { ...listing, pageToken: flipped },
      { ...listing, pageToken: owners.nextPageToken },
      { ...listing, owner: other },
      { ...listing, owner: { kind: 4, id: owner.id } },
      { ...listing, kinds: [] },
      { ...listing, kinds: [Kind.SEMANTIC] },
      { ...listing, order: OLDEST },
    ];
    for (const request of wrong) {
      expect(await failureOf(api.memory.listEntries(request)), JSON.stringify(request)).toMatchObject({
        code: Code.InvalidArgument,
        reason: "PAGE_TOKEN_INVALID",
      });
    }
    expect(await failureOf(api.memory.listEntries({ owner, pageToken: "x".repeat(1_025) }))).toMatchObject({
      reason: "FIELD_INVALID",
      fields: ["page_token"],
    });
  });

  it("ends a page before 3 MiB", async () => {
    const owner = api.owner();
    for (let n = 0; n < 7; n++) await api.remember(owner, { id: `e${n}`, text: String(n).repeat(900_000) });
    const seen: string[] = [];
    let token = "";
    let pages = 0;
    do {
      const next = await page(api, owner, OLDEST, 500, token);
      expect(toBinary(ListEntriesResponseSchema, next.answer).length).toBeLessThan(3 * 1_048_576);
      seen.push(...next.ids);
      token = next.token;
      pages++;
    } while (token !== "");
    expect(seen).toEqual(["e0", "e1", "e2", "e3", "e4", "e5", "e6"]);
    expect(pages).toBe(3);
  });

  it("answers from a state that holds min_seq, or not at all", async () => {
    const owner = api.owner();
    const { seq } = await api.remember(owner);
    expect((await api.memory.listEntries({ owner, minSeq: seq })).seq).toBe(seq);
    expect(await failureOf(api.memory.listEntries({ owner, minSeq: seq + 1n }))).toMatchObject({
      code: Code.OutOfRange,
      reason: "SEQ_NOT_REACHED",
      metadata: { seq: String(seq) },
    });
  });

  it("refuses an unknown order", async () => {
    expect(await failureOf(page(api, api.owner(), 9 as ListOrder, 1))).toMatchObject({
      reason: "FIELD_INVALID",
      fields: ["order"],
    });
  });
});
