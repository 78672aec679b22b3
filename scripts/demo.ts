// A tour of what works, with a real service, on temporary data. Every step checks what it
// shows: the demo is a smoke test too.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { createMemoryClient, type MemoryClient, type NewMemory, ReverieError } from "@reverie/client";
import { OwnerKind } from "@reverie/proto/memory";
import { check, checkEqual, DemoError } from "./demo/check.js";
import { filesHolding, readPlainJsonl } from "./demo/plain-files.js";
import { bold, count, dim, green, ms, ok, red, say, shown, step } from "./demo/report.js";
import { type ServiceProcess, startService } from "./demo/service-process.js";
import { readTranscript, type Transcript } from "./demo/transcript.js";
import { Watcher } from "./demo/watcher.js";
import { root } from "./lib/repo.js";

const help = `Usage: npm run demo [-- options]

Starts a memory service on free ports of this machine, with temporary data, and shows what it does.

  --transcript FILE  import this session file (JSONL, version 1) instead of a short one of our own
  --keep             leave the data directory where it is
  --help             print this and leave
`;

/** Whose memory the session becomes. */
const agent = "agent/demo";
/** Facts in several scripts. */
const team = "shared/demo-team";
const secret = "the staging password is rusty-anchor-42";

/** Enough that a recall comes in several batches. */
const archive = "agent/demo-archive";
const archiveSize = 2_000;
const archiveTextLength = 1_500;
const needle = "the quokka in the machine room";

interface SessionFile {
  /** As shown. */
  readonly name: string;
  readonly bytes: Buffer;
}

interface Tour {
  readonly client: MemoryClient;
  readonly service: ServiceProcess;
  readonly dataDir: string;
  readonly transcript: Transcript;
}

async function takeTour(file: SessionFile, dataDir: string): Promise<void> {
  step("Start the memory service");
  const started = performance.now();
  const service = await startService(dataDir);
  const client = createMemoryClient({ address: service.grpc });
  try {
    await showServer(service, client, dataDir, performance.now() - started);
    const transcript = showTranscript(file);
    const tour = { client, service, dataDir, transcript };
    await importSession(tour);
    await recallSession(tour);
    await recallStream(tour);
    await recallScripts(tour);
    await watchChanges(tour);
    readFiles(tour);
    await useTrash(tour);
    await describe(tour);
    await stopService(tour);
  } catch (error) {
    const log = service.log().trim();
    if (log !== "") process.stderr.write(`\nThe service's log:\n${log}\n`);
    throw error;
  } finally {
    client.close();
    service.kill();
  }
}

async function showServer(service: ServiceProcess, client: MemoryClient, dataDir: string, tookMs: number) {
  say(`reverie-memory ${service.version}, process ${service.pid}, ready after ${ms(tookMs)}`);
  say(`gRPC on ${service.grpc}, Connect and gRPC-Web on ${service.http}`);
  say(`data in ${dataDir}`);
  const info = await client.info.getServerInfo({});
  checkEqual(info.service, "reverie-memory", "the name that the server gives itself");
  checkEqual(info.durability, "fsync", "the default durability");
  const health = await fetch(`http://${service.http}/healthz`);
  checkEqual(health.status, 200, "the status of /healthz");
  ok(`it serves ${info.apiPackages.join(", ")} and acknowledges a write after ${info.durability}`);
}

function readSession(path: string): SessionFile {
  try {
    return { name: relative(process.cwd(), path), bytes: readFileSync(path) };
  } catch (error) {
    throw new DemoError(`the transcript can't be read: ${(error as Error).message}`);
  }
}

function showTranscript({ name, bytes }: SessionFile): Transcript {
  step("Read a session");
  const transcript = readTranscript(bytes, 1024 * 1024);
  const { messages, lines, skipped } = transcript;
  const users = messages.filter(({ role }) => role === "user").length;
  say(`${name}: ${count(lines, "line")}, ${count(Math.ceil(bytes.length / 1024), "KiB", "KiB")}`);
  say(`${count(users, "message")} of the user, ${messages.length - users} of the assistant`);
  say(
    `skipped: ${count(skipped.toolResults, "tool result")}, ${skipped.withoutText} without text, ` +
      `${skipped.otherLines} of other types, ${skipped.tooLong} too long, ${skipped.unreadable} torn or unreadable`,
  );
  check(messages.length > 0, `${name} holds no message of a user or assistant: is it a session file?`);
  checkEqual(
    messages.length + Object.values(skipped).reduce((sum, part) => sum + part, 0),
    lines,
    "lines used and skipped, together",
  );
  return transcript;
}

async function importSession({ client, transcript }: Tour): Promise<void> {
  step("Import it as episodic memories");
  const { messages, sessionId } = transcript;
  const memories = messages.map(({ id, role, text, ts }) => ({
    kind: "episodic" as const,
    id,
    text,
    ...(ts > 0 && { ts }),
    meta: { role, ...(sessionId !== "" && { session: sessionId }) },
  }));
  const begun = performance.now();
  const first = await client.rememberMany(agent, memories);
  const tookMs = performance.now() - begun;
  checkEqual(first.refused, [], "memories refused");
  checkEqual(first.stored, memories.length, "memories stored");
  ok(`${count(first.stored, "memory", "memories")} of ${agent} stored and synced in ${ms(tookMs)}`);
  const again = await client.rememberMany(agent, memories);
  checkEqual([again.stored, again.alreadyStored], [0, memories.length], "memories stored by sending all again");
  ok("all of them sent again, as after a lost answer: nothing is stored twice");
}

async function recallSession({ client, transcript }: Tour): Promise<void> {
  step("Recall, newest first");
  const word = searchWord(transcript);
  const query = word.toUpperCase();
  const { entries, summary } = await client.recall(agent, { text: query, k: 200 });
  check(entries.length > 0, `recall of ${query} finds nothing`);
  const ids = new Set(entries.map(({ id }) => id));
  const holdsWord = new RegExp(`${word.replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&")}(?!\\p{M})`, "u");
  const missing = transcript.messages.filter(({ id, text }) => holdsWord.test(text.toLowerCase()) && !ids.has(id));
  check(missing.length === 0 || summary.truncated, `recall of ${query} misses ${missing[0]?.id}, which holds ${word}`);
  const ordered = entries.every(({ ts }, i) => i === 0 || (entries[i - 1]?.ts ?? 0) >= ts);
  check(ordered, "what recall finds is not newest first");
  ok(
    `${JSON.stringify(query)} finds ${count(entries.length, "memory", "memories")} of ${summary.scanned}, the newest:`,
  );
  say(dim(`   ${new Date(entries[0]?.ts ?? 0).toISOString()}  ${shown(entries[0]?.text ?? "")}`));
}

/** A longer word of plain letters from the newest message that has one, in small letters; else one character. */
function searchWord({ messages }: Transcript): string {
  for (const { text } of messages.toReversed()) {
    const words = text.toLowerCase().match(/(?<![\p{L}\p{M}])[a-z]{5,15}(?![\p{L}\p{M}])/gu) ?? [];
    const longest = words.toSorted((a, b) => b.length - a.length)[0];
    if (longest !== undefined) return longest;
  }
  const [first = ""] = messages.at(-1)?.text.trim().toLowerCase() ?? "";
  return first;
}

async function recallStream({ client, transcript }: Tour): Promise<void> {
  step("Recall as a stream: entries arrive while the search goes on");
  const stored = await client.rememberMany(archive, [...archiveOf(transcript)]);
  checkEqual([stored.stored, stored.refused], [archiveSize, []], "memories of the archive stored and refused");
  say(`${archive} holds ${count(archiveSize, "longer memory", "longer memories")} now; recall the newest 200:`);
  const owner = { kind: OwnerKind.AGENT, id: "demo-archive" };
  const begun = performance.now();
  let entries = 0;
  let returned: bigint | undefined;
  for await (const { event } of client.memory.recall({ owner, k: 200 })) {
    const at = ms(performance.now() - begun).padStart(7);
    if (event.case === "batch") {
      check(returned === undefined, "a batch came behind the summary");
      if (entries === 0) say(`${at}  the first ${count(event.value.entries.length, "memory", "memories")}`);
      entries += event.value.entries.length;
    } else if (event.case === "summary") {
      returned = event.value.returned;
      const { scanned, truncated } = event.value;
      say(`${at}  the summary: ${returned} returned, ${scanned} looked at${truncated ? ", there may be more" : ""}`);
    }
  }
  checkEqual([entries, returned], [200, 200n], "memories received, and those that the summary counts");
  const { entries: found, summary } = await client.recall(archive, { text: needle });
  checkEqual(found.length, 1, "memories that hold what only the oldest holds");
  const tookMs = await timed(() => client.recall(archive, { text: needle }));
  ok(`what only the oldest of ${count(summary.scanned, "memory", "memories")} holds is found in ${ms(tookMs)}`);
}

/** Memories made of the session's texts, told over and over. */
function* archiveOf({ messages }: Transcript): Generator<NewMemory> {
  let at = 0;
  for (let i = 0; i < archiveSize; i++) {
    let text = `${i}.`;
    while (text.length < archiveTextLength)
      text += ` ${messages[at++ % messages.length]?.text.slice(0, archiveTextLength)}`;
    if (i === 0) text += ` ${needle}`;
    yield { kind: "episodic", id: `told-${i}`, text, ts: 1_700_000_000_000 + i * 60_000 };
  }
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await run();
  return performance.now() - begun;
}

async function recallScripts({ client }: Tour): Promise<void> {
  step("Recall whatever the script, case or Unicode form");
  const cases = [
    { text: "Die Straße zum Büro ist gesperrt.", query: "STRASSE" },
    { text: "明日は東京タワーの近くで会う。", query: "京" },
    { text: "Lunch is at the cafe\u0301 by the river.", query: "Café" },
    { text: "The plate says ＡＢＣ１２３.", query: "abc123" },
    { text: "Ο φάκελος λέγεται ΟΔΥΣΣΕΥΣ.", query: "οδυσσευς" },
    { text: "The flight goes to İstanbul.", query: "istanbul" },
    { text: "Release day 🚀 is Friday.", query: "🚀" },
  ];
  for (const [index, { text }] of cases.entries()) {
    await client.remember(team, { kind: "semantic", text, id: `fact-${index}`, meta: { source: "demo" } });
  }
  for (const { text, query } of cases) {
    const { entries } = await client.recall(team, { text: query });
    checkEqual(
      entries.map((entry) => entry.text),
      [text],
      `what ${JSON.stringify(query)} finds`,
    );
    ok(`${JSON.stringify(query)} finds: ${shown(text)}`);
  }
  const nothing = await client.recall(team, { text: "Straßenbahn" });
  checkEqual(nothing.entries, [], "what a text that nobody stored finds");
  ok('"Straßenbahn" finds nothing');
}

async function watchChanges({ client, transcript }: Tour): Promise<void> {
  step("Watch while memories change");
  const watcher = await Watcher.start(client, agent);
  const handle = client.handle(agent);
  const newest = transcript.messages.at(-1)?.id ?? "";

  let begun = performance.now();
  await handle.remember({ kind: "semantic", text: secret, id: "secret" });
  const stored = await watcher.next("the new memory");
  check(stored.type === "upserted" && stored.entry.text === secret, "the watch shows another new memory");
  ok(`stored   ${ms(performance.now() - begun).padStart(7)}  seq ${stored.seq}  ${shown(secret)}`);

  begun = performance.now();
  check(await handle.patchMeta(newest, { reviewed: true }), `${newest} to patch isn't there`);
  const patched = await watcher.next("the patched memory");
  check(patched.type === "upserted" && patched.entry.id === newest, "the watch shows another memory as patched");
  checkEqual(patched.entry.meta?.reviewed, true, "the patched meta");
  ok(`patched  ${ms(performance.now() - begun).padStart(7)}  seq ${patched.seq}  ${newest} with reviewed: true`);

  begun = performance.now();
  await handle.forget("secret");
  const deleted = await watcher.next("the forgotten memory");
  check(deleted.type === "deleted" && deleted.id === "secret", "the watch shows another memory as forgotten");
  ok(`deleted  ${ms(performance.now() - begun).padStart(7)}  seq ${deleted.seq}  secret`);
  await watcher.stop();

  checkEqual(await client.get(agent, "secret"), undefined, "the forgotten memory");
  const late = await client.remember(agent, { kind: "semantic", text: secret, id: "secret" }).then(
    () => "stored",
    (error: unknown) => (error instanceof ReverieError ? error.reason : String(error)),
  );
  checkEqual(late, "ENTRY_FORGOTTEN", "a late retry of what was forgotten");
  ok("a late retry of the forgotten memory is refused: ENTRY_FORGOTTEN");
}

function readFiles({ dataDir, transcript }: Tour): void {
  step("Read the files as plain JSONL, beside the running service");
  const path = join(dataDir, "agent/demo/episodic.jsonl");
  const entries = readPlainJsonl(path);
  checkEqual(
    entries.map(({ id }) => id).sort(),
    transcript.messages.map(({ id }) => id).sort(),
    "the ids that a plain reader sees",
  );
  ok(
    `${relative(dataDir, path)}: a reader that keeps objects with id and text sees ${count(entries.length, "memory", "memories")}`,
  );
  const shortest = entries.reduce((best, entry) => (entry.line.length < best.line.length ? entry : best));
  say(dim(`   ${shown(shortest.line, 240)}`));
  checkEqual(filesHolding(dataDir, secret), [], "files that still hold the forgotten text");
  ok("the forgotten text is in no file");
}

async function useTrash({ client, transcript }: Tour): Promise<void> {
  step("Soft-delete, look into the trash, restore");
  const ref = await client.hubTrash.softDelete(agent, "demo");
  checkEqual((await client.recall(agent)).entries, [], "memories of the soft-deleted owner");
  ok(
    `${agent} is in the trash as ${ref.id}, until ${new Date(ref.expiresAt).toISOString().slice(0, 10)}; recall finds nothing`,
  );
  const listed = await client.hubTrash.list(agent);
  checkEqual(
    listed.map(({ id, reason }) => [id, reason]),
    [[ref.id, "demo"]],
    "the trash's list",
  );
  for (const { id, ownerKind, ownerId, reason } of listed) say(`   ${id}  ${ownerKind}/${ownerId}  reason: ${reason}`);
  await client.hubTrash.restore(ref);
  checkEqual(await client.hubTrash.list(agent), [], "the trash after the restore");
  const ids: string[] = [];
  for await (const { id } of client.entries(agent, { order: "oldest" })) ids.push(id);
  checkEqual(ids.sort(), transcript.messages.map(({ id }) => id).sort(), "the ids after the restore");
  const patched = await client.get(agent, transcript.messages.at(-1)?.id ?? "");
  checkEqual(patched?.meta?.reviewed, true, "the patched meta after the restore");
  ok(`restored: all ${count(ids.length, "memory", "memories")} are back, the patch too`);
}

async function describe({ client, transcript }: Tour): Promise<void> {
  step("Describe the owner");
  const state = await client.owners.describe({ owner: { kind: OwnerKind.AGENT, id: "demo" } });
  checkEqual(
    state.items.reduce((sum, { entries }) => sum + Number(entries), 0),
    transcript.messages.length,
    "live entries",
  );
  checkEqual([state.exists, state.writable, state.corruptLines], [true, true, 0n], "the owner's state");
  say(
    `${count(transcript.messages.length, "live memory", "live memories")}, seq ${state.seq}, durability ${state.durability}`,
  );
  say(`${count(Number(state.liveBytes), "live byte")} in ${count(Number(state.diskBytes), "byte")} on disk`);
  ok("no corrupt line, no torn tail, takes writes");
}

async function stopService({ client, service, dataDir, transcript }: Tour): Promise<void> {
  step("Stop the service");
  client.close();
  const begun = performance.now();
  checkEqual(await service.stop(), 0, "the exit code after SIGTERM");
  ok(`SIGTERM: exit 0 after ${ms(performance.now() - begun)}`);
  const entries = readPlainJsonl(join(dataDir, "agent/demo/episodic.jsonl"));
  checkEqual(entries.length, transcript.messages.length, "the memories in the file");
  const facts = readPlainJsonl(join(dataDir, "shared/demo-team/semantic.jsonl"));
  checkEqual(facts.length, 7, "the facts in the file");
  ok(`the files are all there: ${entries.length} + ${count(facts.length, "memory", "memories")}, one a line`);
}

function options(): { transcript: string; keep: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        transcript: { type: "string" },
        keep: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) {
      process.stdout.write(help);
      process.exit(0);
    }
    // npm runs this in the checkout's root; the path was meant from where npm was called.
    const base = process.env.INIT_CWD ?? process.cwd();
    const transcript = values.transcript && resolve(base, values.transcript);
    return { transcript: transcript ?? join(root, "test/fixtures/session-v1.jsonl"), keep: values.keep };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${help}`);
    process.exit(2);
  }
}

function checkNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 20)) return;
  throw new DemoError(`Node ${process.versions.node} is too old: use 20.20 or newer, 22 or 24`);
}

const { transcript, keep } = options();
const directory = mkdtempSync(join(tmpdir(), "reverie-demo-"));
const dataDir = join(directory, "memory");
process.on("exit", () => {
  if (!keep) rmSync(directory, { recursive: true, force: true });
});
// Who read the output has left, such as `head`.
process.stdout.on("error", () => process.exit(1));
process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));

try {
  checkNode();
  const tookMs = await timed(() => takeTour(readSession(transcript), dataDir));
  process.stdout.write(`\n${green(bold("All as it should be"))}, in ${(tookMs / 1000).toFixed(1)} s.\n`);
  process.stdout.write(keep ? `The data stays in ${dataDir}\n` : "The temporary data is removed.\n");
} catch (error) {
  const isPlain = error instanceof DemoError || error instanceof ReverieError;
  process.stderr.write(`\n${red("FAILED")}: ${isPlain ? error.message : (error as Error).stack}\n`);
  if (keep) process.stderr.write(`The data stays in ${dataDir}\n`);
  process.exitCode = 1;
}
