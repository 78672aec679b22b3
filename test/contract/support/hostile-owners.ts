import { realpathSync } from "node:fs";
import { join } from "node:path";
import { Kind, OwnerKind } from "@reverie/proto/memory";
import { expect } from "vitest";
import { newEntry, type OwnerInit, stream } from "./contract.js";
import { callRaw } from "./hostile-bytes.js";
import type { HostileCase, Scene } from "./hostile-case.js";
import { escaped } from "./hostile-entries.js";
import { transports } from "./transports.js";

const creating = "Remember, RememberMany, ImportOwner, Attach";

/** The calls that may make an owner. */
function makers({ api }: Scene, owner: OwnerInit) {
  const line = Buffer.from('{"kind":"episodic","text":"hello"}\n');
  return [
    () => api.remember(owner),
    () => api.memory.rememberMany(stream({ owner, entries: [newEntry({})] })),
    () => api.memory.importOwner(stream({ owner, lines: line })),
    () => api.owners.attach({ owner }),
  ];
}

/** An id that no new owner may have. */
function refused(input: string, id: string, note?: string, kind = OwnerKind.AGENT): HostileCase {
  const fieldInvalid = id === "" || Buffer.byteLength(id) > 255;
  return {
    field: "Owner ids",
    input,
    calls: creating,
    answer: `INVALID_ARGUMENT ${fieldInvalid ? "FIELD_INVALID" : "OWNER_ID_INVALID"}`,
    ...(note && { note }),
    act: (scene) => makers(scene, { kind, id }),
  };
}

/** An odd name that is allowed: an owner of its own, whose directory has that very name below the root. */
function allowed(input: string, id: string, note?: string): HostileCase {
  return {
    field: "Owner ids",
    input,
    calls: "Remember, GetEntry, ListOwners, SoftDelete, HardDelete",
    answer: "OK",
    ...(note && { note }),
    act: ({ api }) => [
      async () => {
        const owner = { kind: OwnerKind.PEER, id };
        await api.remember(owner, { id: "a", text: id });
        expect((await api.memory.getEntry({ owner, id: "a" })).entry?.text).toBe(id);
        const { owners } = await api.owners.listOwners({ kind: OwnerKind.PEER, pageSize: 500 });
        expect(owners.map((summary) => summary.owner?.id)).toContain(id);
        const root = realpathSync(api.server.dataDir);
        expect(realpathSync(join(root, "peer", id, "episodic.jsonl"))).toBe(`${root}/peer/${id}/episodic.jsonl`);
        const { ref } = await api.trash.softDelete({ owner });
        await api.trash.hardDelete({ owner, refId: ref?.refId ?? "" });
      },
    ],
  };
}

/** Another one's name but for case or Unicode form. */
function twin(input: string, existing: string, id: string, answer: HostileCase["answer"]): HostileCase {
  return {
    field: "Owner ids",
    input,
    calls: creating,
    answer,
    act: async (scene) => {
      const name = (base: string): string => `${base}-${scene.api.transport.name}`;
      await scene.api.remember({ kind: OwnerKind.SHARED, id: name(existing) }, { id: "a" });
      return makers(scene, { kind: OwnerKind.SHARED, id: name(id) });
    },
  };
}

/** The same where an older directory has a form that no new one may have. */
function olderTwin(input: string, existing: string, id: string): HostileCase {
  return {
    field: "Owner ids",
    input,
    calls: creating,
    answer: "ALREADY_EXISTS OWNER_NAME_TWIN",
    act: async (scene) => {
      // Which names there are is read once, when a kind gets its first new owner.
      for (const { name } of transports)
        await scene.api.server.plant(`workflow-run/${existing}-${name}`, "notes.txt", "theirs");
      return makers(scene, { kind: OwnerKind.WORKFLOW_RUN, id: `${id}-${scene.api.transport.name}` });
    },
  };
}

function rawId(input: string, bytes: Uint8Array): HostileCase {
  return {
    field: "Owner ids",
    input,
    calls: "Remember",
    answer: "INVALID_ARGUMENT FIELD_INVALID",
    note: "the message can't be decoded",
    act: ({ api }) => [
      () =>
        callRaw(api, {
          method: "Remember",
          message: { owner: { kind: OwnerKind.AGENT, id: bytes }, entry: { kind: Kind.EPISODIC, text: "hello" } },
        }),
    ],
  };
}

function kind(input: string, owner: OwnerInit | undefined, reason = "FIELD_INVALID"): HostileCase {
  return {
    field: "Owner kinds",
    input,
    calls: creating,
    answer: `INVALID_ARGUMENT ${reason}`,
    act: (scene) => makers(scene, owner as OwnerInit),
  };
}

export const ownerCases: readonly HostileCase[] = [
  refused("empty", ""),
  refused("`.`", "."),
  refused("`..`", ".."),
  refused("`../x`", "../x"),
  refused("`/etc/passwd`", "/etc/passwd"),
  refused("`a/b`", "a/b"),
  refused("`a\\b`", "a\\b"),
  refused("NUL", "a\0b"),
  refused("newline", "a\nb"),
  refused("tab", "a\tb"),
  refused("DEL", "a\u007f"),
  refused("a C1 control (U+0085)", "a\u0085"),
  refused("a leading dot", ".hidden", "an older directory of that name is served"),
  refused("not in NFC", "cafe\u0301", "an older directory of that name is served"),
  refused("256 bytes", "x".repeat(256)),
  refused("256 bytes in 86 characters", `${"語".repeat(85)}x`),
  rawId("half a surrogate pair", Buffer.from([0x61, 0xed, 0xa0, 0x80])),
  rawId("bytes that are no UTF-8", Buffer.from([0x61, 0xff])),
  escaped("Owner ids", () => ({ owner: { kind: 1, id: "a\ud800" }, entry: { kind: 1, text: "hello" } })),
  twin("another's but for case", "Ada", "aDA", "ALREADY_EXISTS OWNER_NAME_TWIN"),
  twin("another's but for case, outside ASCII", "Élodie", "éLODIE", "ALREADY_EXISTS OWNER_NAME_TWIN"),
  twin("the NFD spelling of another's", "Zoé", "Zoe\u0301", "INVALID_ARGUMENT OWNER_ID_INVALID"),
  olderTwin("the NFC spelling of an older NFD one", "Noe\u0308l", "Noël"),
  allowed("`．．／`, full-width", "．．／"),
  allowed("255 bytes", "x".repeat(255)),
  allowed("255 bytes in 85 characters", "語".repeat(85)),
  allowed("`__proto__`", "__proto__"),
  allowed("`constructor`", "constructor"),
  allowed("a direction override (U+202E)", "a\u202eb"),
  allowed("a line separator (U+2028)", "a\u2028b"),
  allowed("a byte order mark (U+FEFF)", "\ufeffa"),
  allowed("`CON`, which Windows reserves", "CON"),
  allowed("a trailing dot", "a."),
  allowed("a trailing space", "a "),
  allowed("one space", " "),
  allowed("an emoji of several code points", "👩‍👩‍👧‍👦"),
  allowed("`%2e%2e%2f`", "%2e%2e%2f"),
  allowed("quotes and `$(x)`", "\"';$(x)`"),
  kind("unspecified", { kind: OwnerKind.UNSPECIFIED, id: "x" }),
  kind("an unknown number", { kind: 99 as OwnerKind, id: "x" }),
  kind("a negative number", { kind: -1 as OwnerKind, id: "x" }),
  kind("`org` with an id other than `self`", { kind: OwnerKind.ORG, id: "acme" }, "OWNER_ID_INVALID"),
  kind("no owner at all", undefined),
];
