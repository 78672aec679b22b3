import { expect, it } from "vitest";
import { IdTable } from "../../src/store/jsonl/id-table.js";

it.each([0, 100, 50_000])("finds every id that isn't gone, with room made for %d", (reserved) => {
  const gone = new Set<number>();
  const table = new IdTable((i) => gone.has(i));
  table.resize(10_000);
  table.reserve(reserved);
  expect(table.find("id-0")).toEqual([]);
  for (let i = 0; i < 10_000; i++) {
    // Every tenth id comes twice.
    table.add(i, i % 10 === 9 ? `id-${i - 1}` : `id-${i}`);
    if (i === 2) expect(table.find("id-2")).toEqual([2]);
    if (i === 5000) for (let at = 0; at < 4000; at += 3) gone.add(at);
  }
  for (let i = 0; i < 10_000; i++) {
    const same = i % 10 === 8 ? [i, i + 1] : i % 10 === 9 ? [] : [i];
    expect(table.find(`id-${i}`)).toEqual(same.filter((at) => !gone.has(at)));
  }
  expect(table.findLike(9999)).toEqual([9998, 9999]);
  // What was cut off makes room again.
  table.resize(20_000);
  table.add(10_000, "new");
  expect(table.find("new")).toEqual([10_000]);
  expect(table.find("id-9997")).toEqual([9997]);
});
