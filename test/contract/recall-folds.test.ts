import { expect, it } from "vitest";
import { contract } from "./support/contract.js";
import { failureOf } from "./support/failure.js";
import { recall } from "./support/recalled.js";

contract("Recall compares", (api) => {
  it.each([
    ["café", "cafe\u0301"],
    ["STRASSE", "straße"],
    ["STRASSE", "STRAẞE"],
    ["istanbul", "İstanbul"],
    ["istanbul", "ISTANBUL"],
    ["ΟΔΟΣ", "οδος"],
    ["οδοσ", "οδος"],
    ["abc 123", "ＡＢＣ　１２３"],
    ["ガギ", "ｶﾞｷﾞ"],
    ["が", "か\u3099"],
    ["ﬁne", "fine"],
    ["\u212bngström", "ångström"],
    ["한국", "한국".normalize("NFD")],
    ["ПРИВЕТ", "привет"],
    ["ΐ", "Ϊ\u0301"],
    ["Ǆ", "dž"],
    ["m²", "m2"],
    ["⑨", "9"],
  ])("%s and %s as one, both ways", async (a, b) => {
    for (const [stored, asked] of [
      [a, b],
      [b, a],
    ] as const) {
      const owner = api.owner();
      await api.remember(owner, { text: `before ${stored} behind` });
      await api.remember(owner, { text: "something else" });
      const found = await recall(api, owner, { text: asked });
      expect(found.texts).toEqual([`before ${stored} behind`]);
      expect((await recall(api, owner, { text: ` ${asked} ` })).texts).toHaveLength(1);
    }
  });

  it.each([
    ["か", "が"],
    ["か", "か\u3099"],
    ["cafe", "café"],
    ["cafe", "cafe\u0301"],
    ["ı", "i"],
    ["o", "ø"],
    ["は", "ハ"],
    ["国", "國"],
    ["ab", "a b"],
    [".", "x"],
    ["a*", "aa"],
  ])("%s and %s as two", async (asked, stored) => {
    const owner = api.owner();
    await api.remember(owner, { text: stored });
    expect((await recall(api, owner, { text: asked })).texts).toEqual([]);
  });

  it.each(["x", "京", "東京", "の", "é", "🎉", "👩‍👩", "۳", "?", "\n", "\\", "한", "ß", "ab", "\0"])(
    "a query as short as %j",
    async (asked) => {
      const owner = api.owner();
      const others = Array.from({ length: 30 }, (_, n) => ({ text: `filler number ${n + 100}` }));
      if (!["ab"].includes(asked)) await api.rememberAll(owner, others);
      await api.remember(owner, { text: `prefix ${asked} suffix` });
      const { texts } = await recall(api, owner, { text: asked, k: 200 });
      expect(texts).toContain(`prefix ${asked} suffix`);
      expect(texts.filter((text) => text.startsWith("filler") && !text.includes(asked))).toEqual([]);
    },
  );

  it("a query that runs over the whole text, and over line ends", async () => {
    const owner = api.owner();
    const text = "First line\r\nSecond\u2028third 東京都";
    await api.remember(owner, { text });
    for (const asked of [text, text.toUpperCase(), "LINE\r\nsecond\u2028T", "D 東"]) {
      expect((await recall(api, owner, { text: asked })).texts).toEqual([text]);
    }
    expect((await recall(api, owner, { text: `${text}!` })).texts).toEqual([]);
  });

  it("text only, not ids and meta", async () => {
    const owner = api.owner();
    await api.remember(owner, { id: "needle", metaJson: '{"needle":"needle"}' });
    expect((await recall(api, owner, { text: "needle" })).texts).toEqual([]);
  });

  it("queries of up to 4 KiB", async () => {
    const owner = api.owner();
    const text = `${"é".repeat(2_047)}xy`;
    await api.remember(owner, { text: `.${text}.` });
    expect((await recall(api, owner, { text })).texts).toHaveLength(1);
    expect(await failureOf(api.memory.recall({ owner, text: `${text}z` }))).toMatchObject({
      reason: "FIELD_INVALID",
      fields: ["text"],
    });
  });
});
