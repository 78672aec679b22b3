import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MarkdownPage } from "../src/export/markdown.js";
import { rawMember } from "../src/export/raw-member.js";
import { manyLines } from "../src/output/printable.js";

interface Memory {
  readonly id?: string;
  readonly kind: string;
  readonly text: string;
  readonly ts: number;
  readonly meta?: unknown;
}

function render(memories: readonly Memory[]): string {
  const page = new MarkdownPage();
  for (const memory of memories) page.add(Buffer.from(JSON.stringify(memory)));
  return [...page.render("agent/ada", Date.UTC(2026, 0, 2))].join("");
}

/** Headings and fenced blocks, as CommonMark reads them: a fence ends with as many backticks or more on a line. */
function read(markdown: string): { headings: string[]; blocks: string[] } {
  const headings: string[] = [];
  const blocks: string[] = [];
  let fence: string | undefined;
  let block: string[] = [];
  for (const line of markdown.split(/\r\n|\n|\r/)) {
    const marks = /^ {0,3}(`{3,})([^`]*)$/.exec(line);
    if (fence !== undefined) {
      if (marks && marks[1]!.length >= fence.length && marks[2]!.trim() === "") {
        blocks.push(block.join("\n"));
        fence = undefined;
        block = [];
      } else block.push(line);
    } else if (marks) fence = marks[1];
    else if (/^ {0,3}#{1,6} /.test(line)) headings.push(line);
  }
  expect(fence).toBeUndefined();
  return { headings, blocks };
}

describe("the Markdown page", () => {
  it("groups by kind and day, oldest first, and shows ids and meta", () => {
    const page = render([
      { id: "b", kind: "semantic", text: "second", ts: Date.UTC(2026, 0, 1, 12) },
      { id: "a", kind: "semantic", text: "first", ts: Date.UTC(2025, 11, 31), meta: { n: 1 } },
      { kind: "episodic", text: "third", ts: Date.UTC(2026, 0, 1, 12, 0, 0, 5) },
    ]);
    expect(page).toBe(
      [
        "# Memories of `agent/ada`\n\n3 memories, exported 2026-01-02T00:00:00.000Z. Times are UTC.\n",
        "## Episodic\n\n### 2026-01-01\n\n#### 12:00:00.005 (no id)\n\n```text\nthird\n```\n",
        '## Semantic\n\n### 2025-12-31\n\n#### 00:00:00 `a`\n\n```text\nfirst\n```\n\nMeta: `{"n":1}`\n',
        "### 2026-01-01\n\n#### 12:00:00 `b`\n\n```text\nsecond\n```\n",
      ].join("\n"),
    );
  });

  it("keeps its structure, whatever a text, an id or a meta holds", () => {
    const piece = fc.constantFrom(
      "```",
      "~~~~",
      "````\n",
      "\n",
      "# x\n",
      "<!--",
      "<script>",
      "[a]: /b\n",
      "---\n",
      "    ",
      "> ",
      "\r",
      "\x1b[31m",
      "`",
    );
    const nasty = fc.array(fc.oneof(piece, fc.string())).map((parts) => parts.join(""));
    fc.assert(
      fc.property(
        fc.array(fc.record({ text: nasty, id: nasty, meta: fc.dictionary(fc.string(), nasty) }), {
          minLength: 1,
          maxLength: 4,
        }),
        (found) => {
          const memories = found.map((rest, at) => ({ ...rest, kind: "working", ts: Date.UTC(2026, 0, 1, 0, 0, at) }));
          const { headings, blocks } = read(render(memories));
          expect(blocks).toEqual(memories.map(({ text }) => manyLines(text)));
          expect(headings.map((line) => /^#+/.exec(line)![0].length)).toEqual([1, 2, 3, ...memories.map(() => 4)]);
        },
      ),
    );
  });

  it("shows every digit of a meta", () => {
    const page = new MarkdownPage();
    page.add(
      Buffer.from('{"id":"a","kind":"working","text":"t \\"meta\\":1","ts":1,"meta":{"n":9007199254740993,"meta":2}}'),
    );
    expect([...page.render("agent/ada", 0)].join("")).toContain('Meta: `{"n":9007199254740993,"meta":2}`');
  });

  it("finds the text of a member as JSON.parse finds its value", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("meta", "id", "met", 'a"b'), fc.jsonValue()),
        fc.boolean(),
        (object, pretty) => {
          const raw = rawMember(JSON.stringify(object, undefined, pretty ? 2 : 0), "meta");
          expect(raw === undefined ? undefined : JSON.parse(raw)).toEqual(
            object.meta === undefined ? undefined : JSON.parse(JSON.stringify(object.meta)),
          );
        },
      ),
    );
  });
});
