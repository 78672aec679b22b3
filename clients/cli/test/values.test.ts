import { describe, expect, it } from "vitest";
import { readMeta } from "../src/meta-options.js";
import { bytes, when } from "../src/output/units.js";
import { progressText } from "../src/progress.js";
import { parseCount, parseDuration, parseTime } from "../src/values.js";

const never = new AbortController().signal;

describe("values of options", () => {
  it("reads time spans; a bare number is seconds", () => {
    const spans = ["500ms", "10s", "2m", "1.5h", "7d", "30", "0"].map(parseDuration);
    expect(spans).toEqual([500, 10_000, 120_000, 5_400_000, 604_800_000, 30_000, 0]);
    for (const wrong of ["", "x", "-1s", "10 s", "1y"]) expect(() => parseDuration(wrong)).toThrow("time span");
  });

  it("reads times: dates, times with a zone, epoch milliseconds, spans ago", () => {
    const now = Date.UTC(2026, 0, 2);
    expect(parseTime("2026-01-01T10:00Z", now)).toBe(Date.UTC(2026, 0, 1, 10));
    expect(parseTime("2026-01-01T10:00:00.5+01:00", now)).toBe(Date.UTC(2026, 0, 1, 9, 0, 0, 500));
    expect(parseTime("2026-01-01", now)).toBe(Date.UTC(2026, 0, 1));
    expect(parseTime("1767225600000", now)).toBe(1_767_225_600_000);
    expect(parseTime("1d", now)).toBe(Date.UTC(2026, 0, 1));
    for (const wrong of ["yesterday", "2026", "2026-13-01", "12", "1/2/2026", "-1d"])
      expect(() => parseTime(wrong, now)).toThrow("Give a time");
  });

  it("reads whole numbers within their bounds", () => {
    expect(parseCount(1, 200)("200")).toBe(200);
    for (const wrong of ["0", "201", "1.5", "-1", "", "1e2"])
      expect(() => parseCount(1, 200)(wrong)).toThrow("1 to 200");
  });

  it("joins --meta and --set as text, so that no digit and no key is lost", async () => {
    const set = ["a=1e400", "b=x=y", "c=", "__proto__=null", 'd={"e":12345678901234567890}'];
    expect(await readMeta({ meta: ' { "n": 9007199254740993 } ', set }, never)).toBe(
      '{"n": 9007199254740993,"a":1e400,"b":"x=y","c":"","__proto__":null,"d":{"e":12345678901234567890}}',
    );
    expect(await readMeta({}, never)).toBe("");
    expect(await readMeta({ meta: "{}", set: ["a=1"] }, never)).toBe('{"a":1}');
    for (const meta of ["[]", "null", "{", '"x"', "1"])
      await expect(readMeta({ meta }, never)).rejects.toThrow("JSON object");
  });
});

describe("what people see", () => {
  it("says how long ago, and the day from a month on", () => {
    const now = Date.UTC(2026, 0, 31);
    const ago = (ms: number) => when(now - ms, { now });
    expect([0, 59_000, 61_000, 7_200_000, 86_400_000, 3 * 86_400_000].map(ago)).toEqual([
      "now",
      "59 s ago",
      "1 min ago",
      "2 h ago",
      "1 day ago",
      "3 days ago",
    ]);
    expect(ago(30 * 86_400_000)).toBe("2026-01-01");
    expect(when(now + 2 * 86_400_000, { now })).toBe("in 2 days");
    expect(when(now, { now, iso: true })).toBe("2026-01-31T00:00:00Z");
    expect(when(8.65e15, { now })).toBe("8650000000000000 ms");
  });

  it("says how far it is", () => {
    expect([0, 1_023, 1_024, 1_500_000, 3e12].map(bytes)).toEqual(["0 B", "1023 B", "1.0 KiB", "1.4 MiB", "2.7 TiB"]);
    expect(progressText({ entries: 1_234, bytes: 512 }, { entries: 2_000, bytes: 1_024 })).toBe(
      "1,234 of 2,000 entries, 512 B of 1.0 KiB (50 %)",
    );
    expect(progressText({ bytes: 512 }, {})).toBe("512 B");
  });
});
