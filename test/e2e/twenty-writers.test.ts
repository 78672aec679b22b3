import { join } from "node:path";
import { expect, test } from "vitest";
import { clientOf, linesOf, startService, temporaryDirectory } from "./support/service.js";

const WRITERS = 20;
const EACH = 1_000;
const TOTAL = WRITERS * EACH;
/** Calls that a writer has under way. */
const LANES = 10;
const owner = { kind: "shared", id: "team" } as const;

test("20 clients write 1,000 entries each to one owner: all there, none twice, in one order", async () => {
  const dataDir = join(temporaryDirectory(), "data");
  const service = await startService({ dataDir });
  const clients = Array.from({ length: WRITERS }, () => clientOf(service));
  const seqs = new Map<string, number>();
  const backwards: string[] = [];
  const started = performance.now();
  await Promise.all(
    clients.flatMap((client, writer) =>
      Array.from({ length: LANES }, async (_, lane) => {
        let last = 0;
        for (let i = lane; i < EACH; i += LANES) {
          const id = `w${writer}-${i}`;
          const reply = await client.remember(owner, { kind: "episodic", id, text: `writer ${writer}, number ${i} ` });
          // One call follows the answer of the one before: its seq is higher.
          if (reply.alreadyStored || reply.seq <= last) backwards.push(id);
          last = reply.seq;
          seqs.set(id, reply.seq);
        }
      }),
    ),
  );
  const tookMs = performance.now() - started;
  console.log(
    `${WRITERS} writers: ${TOTAL} entries in ${tookMs.toFixed(0)} ms, ${Math.round((TOTAL / tookMs) * 1000)} a second`,
  );
  expect(backwards).toEqual([]);

  const [reader] = clients;
  const listed: string[] = [];
  for await (const { id, text } of reader.entries(owner, { order: "oldest" })) {
    listed.push(id);
    const [writer, number] = id.slice(1).split("-");
    expect(text).toBe(`writer ${writer}, number ${number} `);
  }
  expect(listed).toHaveLength(TOTAL);
  expect(new Set(listed).size).toBe(TOTAL);

  const one = await reader.recall(owner, { text: "number 777 ", k: 200 });
  expect(one.entries.map(({ id }) => id).sort()).toEqual(clients.map((_, writer) => `w${writer}-777`).sort());
  expect(one.summary).toMatchObject({
    scanned: TOTAL,
    matched: WRITERS,
    returned: WRITERS,
    truncated: false,
    seq: TOTAL,
  });
  expect((await reader.recall(owner, { text: "nowhere" })).summary).toMatchObject({ scanned: TOTAL, matched: 0 });

  expect(await service.end("SIGTERM")).toMatchObject({ code: 0 });
  const lines = linesOf(dataDir, owner);
  expect(lines.map(({ seq }) => seq)).toEqual(Array.from({ length: TOTAL }, (_, i) => i + 1));
  // A reply carries the owner's seq, which may be ahead of the entry's own.
  expect(lines.filter(({ id, seq }) => (seqs.get(String(id)) ?? 0) < Number(seq))).toEqual([]);
  expect(new Set(lines.map(({ id }) => id))).toEqual(new Set(listed));
});
