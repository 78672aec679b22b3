import { truncateSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Kind, ListOrder, OwnerKind } from "@reverie/proto/memory";
import { expect } from "vitest";
import { Api, type OwnerInit } from "./contract.js";
import { startContractServer } from "./contract-server.js";
import type { HostileCase, Scene } from "./hostile-case.js";
import { recall } from "./recalled.js";

const MAX_INT64 = 2n ** 63n - 1n;
const MAX_SAFE = 2n ** 53n - 1n;

type Listing = { owner?: OwnerInit; kinds?: Kind[]; order?: ListOrder; pageToken?: string };

/** A token that isn't of this listing, made from a good one of it. */
function token(input: string, make: (good: string, scene: Scene) => Listing | Promise<Listing>): HostileCase {
  return {
    field: "Page tokens",
    input,
    calls: "ListEntries",
    answer: "INVALID_ARGUMENT PAGE_TOKEN_INVALID",
    act: async (scene) => {
      const { api, owner } = scene;
      await api.rememberAll(
        owner,
        [1n, 2n, 3n].map((tsMs) => ({ tsMs })),
      );
      const listing = { owner, kinds: [Kind.EPISODIC], pageSize: 1 };
      const { nextPageToken } = await api.memory.listEntries(listing);
      const hostile = await make(nextPageToken, scene);
      return [() => api.memory.listEntries({ ...listing, pageToken: nextPageToken, ...hostile })];
    },
  };
}

/** Five entries of `x` on a server of its own, and the token of their first page of two; then what happens to it. */
async function elsewhere<T>({ api }: Scene, happen: (there: Api, token: string) => Promise<T>): Promise<T> {
  const server = await startContractServer();
  const there = new Api(api.transport);
  try {
    there.connect(server);
    const owner = { kind: OwnerKind.AGENT, id: "x" };
    for (let n = 1; n <= 5; n++) await there.remember(owner, { id: `e${n}`, tsMs: BigInt(n) });
    return await happen(there, (await there.memory.listEntries({ owner, pageSize: 2 })).nextPageToken);
  } finally {
    there.close();
    await server.stop();
  }
}

/** The token still works after the service was stopped, something happened to the log, and it started again. */
function tokenSurvives(
  input: string,
  note: string,
  left: string[],
  happen: (log: string) => Promise<void>,
): HostileCase {
  return {
    field: "Page tokens",
    input,
    calls: "ListEntries",
    answer: "OK",
    note,
    act: (scene) => [
      () =>
        elsewhere(scene, async (there, pageToken) => {
          await happen(join(there.server.dataDir, "agent/x/episodic.jsonl"));
          await there.server.restart();
          there.connect(there.server);
          const page = await there.memory.listEntries({ owner: { kind: OwnerKind.AGENT, id: "x" }, pageToken });
          expect(page.entries.map(({ id }) => id)).toEqual(left);
          expect(page.nextPageToken).toBe("");
        }),
    ],
  };
}

const tokens: readonly HostileCase[] = [
  token("garbage", () => ({ pageToken: "x" })),
  token("a path", () => ({ pageToken: "../../etc/passwd" })),
  token("characters outside base64url", () => ({ pageToken: "é".repeat(100) })),
  token("a changed first character", (good) => ({ pageToken: (good[0] === "A" ? "B" : "A") + good.slice(1) })),
  token("cut short", (good) => ({ pageToken: good.slice(0, -1) })),
  token("with something behind it", (good) => ({ pageToken: `${good}A` })),
  token("another owner's", async (_, { api }) => {
    const other = api.owner();
    await api.remember(other);
    return { owner: other };
  }),
  token("of other kinds", () => ({ kinds: [] })),
  token("of another order", () => ({ order: ListOrder.OLDEST_FIRST })),
  token("of ListOwners", async (_, { api, owner }) => {
    await api.remember(api.owner());
    return { pageToken: (await api.owners.listOwners({ kind: owner.kind, pageSize: 1 })).nextPageToken };
  }),
  token("of another data directory", (_, scene) => elsewhere(scene, async (__, pageToken) => ({ pageToken }))),
  {
    field: "Page tokens",
    input: "1 KiB and a byte",
    calls: "ListEntries, ListOwners",
    answer: "INVALID_ARGUMENT FIELD_INVALID",
    act: ({ api, owner }) => {
      const pageToken = "x".repeat(1025);
      return [
        () => api.memory.listEntries({ owner, pageToken }),
        () => api.owners.listOwners({ kind: owner.kind, pageToken }),
      ];
    },
  },
  tokenSurvives("from before a restart", "goes on where the page ended", ["e3", "e2", "e1"], async () => {}),
  tokenSurvives(
    "from before the log was truncated",
    "goes on with what is left of the place",
    ["e2", "e1"],
    async (log) => {
      const bytes = await readFile(log);
      // In the middle of e3, so that the entry where the page ended is gone, too.
      truncateSync(log, bytes.indexOf('"e3"') + 10);
    },
  ),
];

function number(input: string, calls: string, answer: HostileCase["answer"], act: HostileCase["act"]): HostileCase {
  return { field: "Numbers", input, calls, answer, act };
}

const numbers: readonly HostileCase[] = [
  number("`k` −1, and −2^31", "Recall", "INVALID_ARGUMENT FIELD_INVALID", ({ api, owner }) =>
    [-1, -(2 ** 31)].map((k) => () => api.memory.recall({ owner, k })),
  ),
  number("`page_size` −1", "ListEntries, ListOwners", "INVALID_ARGUMENT FIELD_INVALID", ({ api, owner }) => [
    () => api.memory.listEntries({ owner, pageSize: -1 }),
    () => api.owners.listOwners({ kind: owner.kind, pageSize: -1 }),
  ]),
  {
    ...number("`k` or `page_size` 2^31 − 1", "Recall, ListEntries, ListOwners", "OK", ({ api, owner }) => [
      async () => {
        await api.rememberAll(
          owner,
          Array.from({ length: 501 }, () => ({})),
        );
        expect((await recall(api, owner, { k: 2 ** 31 - 1 })).entries).toHaveLength(200);
        expect((await api.memory.listEntries({ owner, pageSize: 2 ** 31 - 1 })).entries).toHaveLength(500);
        await api.owners.listOwners({ kind: owner.kind, pageSize: 2 ** 31 - 1 });
      },
    ]),
    note: "becomes 200 or 500",
  },
  number("`since_ms` ±2^63", "Recall", "INVALID_ARGUMENT FIELD_INVALID", ({ api, owner }) =>
    [MAX_INT64, -MAX_INT64 - 1n].map((sinceMs) => () => api.memory.recall({ owner, sinceMs })),
  ),
  number("`since_ms` ±(2^53 − 1)", "Recall", "OK", ({ api, owner }) => [
    async () => {
      await api.remember(owner);
      expect((await recall(api, owner, { sinceMs: MAX_SAFE })).entries).toHaveLength(0);
      expect((await recall(api, owner, { sinceMs: -MAX_SAFE })).entries).toHaveLength(1);
    },
  ]),
  number("`ts_ms` −1, beyond a date, 2^63 − 1", "Remember", "INVALID_ARGUMENT FIELD_INVALID", ({ api, owner }) =>
    [-1n, 8_640_000_000_000_001n, MAX_INT64].map((tsMs) => () => api.remember(owner, { tsMs })),
  ),
  number("`ts_ms` the last of a date", "Remember", "OK", ({ api, owner }) => [
    async () => expect((await api.remember(owner, { tsMs: 8_640_000_000_000_000n })).tsMs).toBe(8_640_000_000_000_000n),
  ]),
  number("`after_seq` −1, 2^63 − 1", "Watch", "INVALID_ARGUMENT FIELD_INVALID", ({ api, owner }) =>
    [-1n, MAX_INT64].map((afterSeq) => () => api.memory.watch({ owner, afterSeq })),
  ),
  number("`after_seq` above the owner's seq", "Watch", "OUT_OF_RANGE SEQ_NOT_REACHED", ({ api, owner }) => [
    () => api.memory.watch({ owner, afterSeq: MAX_SAFE }),
  ]),
  number(
    "`min_seq` −1, 2^63 − 1",
    "Recall, GetEntry, ListEntries, Describe",
    "INVALID_ARGUMENT FIELD_INVALID",
    ({ api, owner }) =>
      [-1n, MAX_INT64].flatMap((minSeq) => [
        () => api.memory.recall({ owner, minSeq }),
        () => api.memory.getEntry({ owner, id: "a", minSeq }),
        () => api.memory.listEntries({ owner, minSeq }),
        () => api.owners.describe({ owner, minSeq }),
      ]),
  ),
  number(
    "`min_seq` above the owner's seq",
    "Recall, GetEntry, ListEntries, Describe",
    "OUT_OF_RANGE SEQ_NOT_REACHED",
    ({ api, owner }) => [
      () => api.memory.recall({ owner, minSeq: MAX_SAFE }),
      () => api.memory.getEntry({ owner, id: "a", minSeq: MAX_SAFE }),
      () => api.memory.listEntries({ owner, minSeq: MAX_SAFE }),
      () => api.owners.describe({ owner, minSeq: MAX_SAFE }),
    ],
  ),
  number("a cap of −1, 2^63 − 1 bytes", "Attach", "INVALID_ARGUMENT FIELD_INVALID", ({ api, owner }) =>
    [-1n, MAX_INT64].map((maxEpisodicBytes) => () => api.owners.attach({ owner, config: { maxEpisodicBytes } })),
  ),
];

/** What the owner's trash knows no ref of. */
function ref(input: string, refId: string | ((scene: Scene) => Promise<string>), reason?: string): HostileCase {
  return {
    field: "Trash refs",
    input,
    calls: "Restore, HardDelete",
    answer: reason === undefined ? "NOT_FOUND TRASH_NOT_FOUND" : `INVALID_ARGUMENT ${reason}`,
    act: async (scene) => {
      const { api, owner } = scene;
      const id = typeof refId === "string" ? refId : await refId(scene);
      return [() => api.trash.restore({ owner, refId: id }), () => api.trash.hardDelete({ owner, refId: id })];
    },
  };
}

const refs: readonly HostileCase[] = [
  ref("empty", "", "FIELD_INVALID"),
  ref("65 bytes", "0".repeat(65), "FIELD_INVALID"),
  ref("garbage", "x"),
  ref("a path", "../agent/x"),
  ref("`..`", ".."),
  ref("`__proto__`", "__proto__"),
  ref("16 digits that nobody has", "0123456789abcdef"),
  ref("a good one in capitals", async ({ api, owner }) => {
    await api.remember(owner);
    const { ref: found } = await api.trash.softDelete({ owner });
    // Where there is no letter, one that isn't there.
    const capitals = found?.refId.toUpperCase() ?? "";
    return capitals === found?.refId ? "ABCDEF0123456789" : capitals;
  }),
  ref("another owner's", async ({ api }) => {
    const other = api.owner();
    await api.remember(other);
    return (await api.trash.softDelete({ owner: other })).ref?.refId ?? "";
  }),
];

const strings: readonly HostileCase[] = [
  {
    field: "Other strings",
    input: "a recall text of 4 KiB and a byte",
    calls: "Recall",
    answer: "INVALID_ARGUMENT FIELD_INVALID",
    act: ({ api, owner }) => [() => api.memory.recall({ owner, text: "x".repeat(4097) })],
  },
  {
    field: "Other strings",
    input: "a reason of 1 KiB and a byte",
    calls: "SoftDelete",
    answer: "INVALID_ARGUMENT FIELD_INVALID",
    act: ({ api, owner }) => [() => api.trash.softDelete({ owner, reason: "x".repeat(1025) })],
  },
];

export const readCases: readonly HostileCase[] = [...tokens, ...numbers, ...refs, ...strings];
