import { join } from "node:path";
import { toProtoOwner } from "@reverie/client";
import { expect, test } from "vitest";
import { clientOf, startService, temporaryDirectory } from "./support/service.js";

const owner = { kind: "user", id: "ada" } as const;

test.each(["SIGTERM", "SIGKILL"] as const)(
  "page tokens, min_seq and watch cursors survive a restart after %s",
  async (signal) => {
    const dataDir = join(temporaryDirectory(), "data");
    const first = await startService({ dataDir });
    const before = clientOf(first);
    const items = Array.from({ length: 25 }, (_, i) => ({
      kind: "episodic" as const,
      id: `e${i}`,
      text: `number ${i}`,
      ts: 1_000 + i,
    }));
    await before.rememberMany(owner, items);
    const page = await before.memory.listEntries({ owner: toProtoOwner(owner), pageSize: 10 });
    expect(page.entries.map(({ id }) => id)).toEqual(
      items
        .slice(15)
        .reverse()
        .map(({ id }) => id),
    );
    const { seq } = await before.remember(owner, { kind: "semantic", id: "last", text: "the last before", ts: 1 });
    await first.end(signal);

    const after = clientOf(await startService({ dataDir }));
    const next = await after.memory.listEntries({
      owner: toProtoOwner(owner),
      pageSize: 10,
      pageToken: page.nextPageToken,
    });
    expect(next.entries.map(({ id }) => id)).toEqual(
      items
        .slice(5, 15)
        .reverse()
        .map(({ id }) => id),
    );
    const rest = await after.memory.listEntries({
      owner: toProtoOwner(owner),
      pageSize: 10,
      pageToken: next.nextPageToken,
    });
    expect(rest.entries.map(({ id }) => id)).toEqual(["e4", "e3", "e2", "e1", "e0", "last"]);
    expect(rest.nextPageToken).toBe("");

    const own = await after.recall(owner, { text: "the last before", minSeq: seq });
    expect(own.entries.map(({ id }) => id)).toEqual(["last"]);
    expect(own.summary.seq).toBe(seq);
    await expect(after.recall(owner, { minSeq: seq + 1 })).rejects.toMatchObject({
      reason: "SEQ_NOT_REACHED",
      metadata: { seq: String(seq) },
    });
    expect((await after.remember(owner, { kind: "semantic", text: "the first after" })).seq).toBe(seq + 1);
    for await (const { changes } of after.watch(owner, { afterSeq: seq })) {
      expect(changes).toMatchObject([{ type: "upserted", seq: seq + 1 }]);
      break;
    }
  },
);
