import { Code } from "@connectrpc/connect";
import { afterEach, expect, it } from "vitest";
import { version } from "../../memory-service/src/version.js";
import { collect, contract, newEntry, stream } from "./support/contract.js";
import { failuresOf } from "./support/failure.js";

const TOKEN = "correct-horse-battery-staple";

contract("GetServerInfo", (api) => {
  it("says what serves, and its limits", async () => {
    const info = await api.info.getServerInfo({});
    expect(info).toMatchObject({
      service: "reverie-memory",
      version,
      apiPackages: ["reverie.memory.v1", "reverie.info.v1"],
      durability: "fsync",
      limits: {
        maxTextBytes: 1_048_576n,
        maxEntryIdBytes: 128n,
        maxOwnerIdBytes: 255n,
        maxMetaBytes: 65_536n,
        maxMetaDepth: 32,
        maxMessageBytes: 4_194_304n,
        maxMetadataBytes: 8_192n,
        defaultK: 20,
        maxK: 200,
        defaultPageSize: 100,
        maxPageSize: 500,
        maxDeadlineMs: 600_000n,
        maxStreamsPerConnection: 100,
        watchIdleMs: 30_000n,
      },
    });
    expect(info.capabilities).toContain("recall.streaming");
    expect(new Set(info.capabilities).size).toBe(info.capabilities.length);
    expect(Number(info.startedAtMs)).toBeLessThanOrEqual(Date.now());
    expect(Number(info.startedAtMs)).toBeGreaterThan(Date.now() - 600_000);
  });
});

contract(
  "A server with tokens",
  (api) => {
    const owner = { kind: 1, id: "x" };
    afterEach(() => api.connect(api.server));

    it("says what it is to anyone", async () => {
      expect((await api.info.getServerInfo({})).service).toBe("reverie-memory");
      api.connect(api.server, { authorization: "Bearer wrong" });
      expect((await api.info.getServerInfo({})).service).toBe("reverie-memory");
    });

    it.each([
      ["no token", {}],
      ["an unknown token", { authorization: `Bearer ${TOKEN}x` }],
      ["half a token", { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
      ["another scheme", { authorization: `Basic ${TOKEN}` }],
      ["the token alone", { authorization: TOKEN }],
      ["the token's name", { authorization: "Bearer hub" }],
      ["an empty token", { authorization: "Bearer " }],
      ["two tokens", { authorization: `Bearer ${TOKEN} ${TOKEN}` }],
    ])("refuses %s", async (_, headers) => {
      api.connect(api.server, headers as Record<string, string>);
      const calls = [
        api.memory.remember({ owner, entry: newEntry({}) }),
        api.memory.remember({}),
        api.memory.recall({ owner }),
        api.memory.watch({ owner }),
        api.memory.exportOwner({ owner }),
        api.memory.rememberMany(stream({ owner })),
        api.memory.importOwner(stream({ owner })),
        api.owners.listOwners({ kind: 1 }),
        api.trash.listTrash({}),
        api.trash.sweepTrash({}),
      ];
      for (const failure of await failuresOf(calls)) {
        expect(failure).toMatchObject({ code: Code.Unauthenticated, reason: "UNAUTHENTICATED", fields: [] });
      }
    });

    it.each([
      ["a token", `Bearer ${TOKEN}`],
      ["the scheme in any case", `bearer ${TOKEN}`],
      ["a second token without a name", "Bearer 0123456789abcdef"],
    ])("serves %s", async (_, authorization) => {
      api.connect(api.server, { authorization });
      await api.memory.remember({ owner, entry: newEntry({}) });
      expect(await collect(api.memory.recall({ owner }))).not.toHaveLength(0);
      expect(await api.memory.rememberMany(stream({ owner, entries: [newEntry({})] }))).toMatchObject({ stored: 1n });
    });
  },
  { tokens: `# comment\nhub:${TOKEN}\n\n0123456789abcdef\n` },
);
