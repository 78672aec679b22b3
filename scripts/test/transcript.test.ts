import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readTranscript } from "../demo/transcript.js";

const MAX = 1024 * 1024;

function read(...lines: readonly (string | object)[]) {
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  return readTranscript(Buffer.from(text), MAX);
}

function said(role: string, content: unknown, timestamp: unknown = 1_700_000_000_000): object {
  return { type: "message", timestamp: "2023-11-14T22:13:21.000Z", message: { role, content, timestamp } };
}

describe("a session's transcript", () => {
  it("gives what user and assistant said, in order, with line numbers as ids", () => {
    const { sessionId, messages, lines } = read(
      { type: "session", id: "s-1", timestamp: "2023-11-14T22:13:20.000Z" },
      said("user", [{ type: "text", text: "one" }], 1_700_000_000_001),
      "",
      said("assistant", "two", 1_700_000_000_002),
    );
    expect(sessionId).toBe("s-1");
    expect(lines).toBe(3);
    expect(messages).toEqual([
      { id: "L2", role: "user", text: "one", ts: 1_700_000_000_001 },
      { id: "L4", role: "assistant", text: "two", ts: 1_700_000_000_002 },
    ]);
  });

  it("joins the texts of a message and leaves out what is no text", () => {
    const { messages, skipped } = read(
      said("assistant", [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "a" },
        { type: "toolCall", name: "read" },
        { type: "text", text: "b\u2028c" },
      ]),
      said("assistant", [{ type: "toolCall", name: "read" }]),
      said("toolResult", [{ type: "text", text: "output" }]),
    );
    expect(messages.map(({ text }) => text)).toEqual(["a\nb\u2028c"]);
    expect(skipped).toEqual({ toolResults: 1, withoutText: 1, otherLines: 0, tooLong: 0, unreadable: 0 });
  });

  it("skips and counts whatever else comes", () => {
    const odd = [
      "null",
      "[1]",
      "17",
      '{"type":"mess',
      '{"type":"message"}',
      '{"type":"message","message":null}',
      '{"type":"message","message":{"role":"user","content":{}}}',
      '{"type":"message","message":{"role":["user"],"content":"x"}}',
      '{"type":"model_change"}',
      "\0\0\0",
      JSON.stringify(said("user", "x".repeat(MAX + 1))),
    ];
    const { messages, skipped, lines } = read(...odd, said("user", "kept"), '{"torn');
    expect(messages.map(({ text }) => text)).toEqual(["kept"]);
    expect(skipped).toEqual({ toolResults: 0, withoutText: 1, otherLines: 4, tooLong: 1, unreadable: 5 });
    // Three NULs are no line: a power cut leaves such tails.
    expect(lines).toBe(12);
  });

  it("takes bytes that are no UTF-8 for an unreadable line", () => {
    const { messages, skipped } = readTranscript(
      Buffer.concat([Buffer.from('{"type":"message","x":"'), Buffer.of(0xff), Buffer.from('"}\n')]),
      MAX,
    );
    expect(messages).toEqual([]);
    expect(skipped.unreadable).toBe(1);
  });

  it("takes the time of the message, else of its line, else of the line before", () => {
    const { messages } = read(
      said("user", "a", "soon"),
      { type: "message", message: { role: "user", content: "b" } },
      said("user", "c", -5),
      said("user", "d", 1_700_000_009_000),
    );
    const ofLine = Date.parse("2023-11-14T22:13:21.000Z");
    expect(messages.map(({ ts }) => ts)).toEqual([ofLine, ofLine, ofLine, 1_700_000_009_000]);
  });

  it("of the fixture has several scripts and a torn end", () => {
    const file = readFileSync(new URL("../../test/fixtures/session-v1.jsonl", import.meta.url));
    const { messages, skipped } = readTranscript(file, MAX);
    expect(messages).toHaveLength(29);
    expect(skipped.unreadable).toBe(1);
    expect(messages.some(({ text }) => /\p{sc=Han}/u.test(text))).toBe(true);
    expect(messages.some(({ text }) => text.includes("Föhr"))).toBe(true);
  });
});
