import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { type Fs, O_CREAT } from "../../../src/store/jsonl/fs.js";
import type { Sabotage } from "./world.js";

const NEWLINE = 0x0a;

const isErase = (bytes: Uint8Array): boolean => bytes.length > 1 && bytes.every((byte) => byte === NEWLINE);

/** A file system with one call that behaves otherwise. */
const fsWith = (change: (fs: Fs) => Partial<Fs>): Sabotage => ({ fs: (fs) => ({ ...fs, ...change(fs) }) });

export const losesAppends: Sabotage = {
  store: (store) => ({
    append: async (owner, entries) => {
      const result = await store.append(owner, entries);
      const [first] = result.outcomes;
      if (first.status === "stored" && first.entry.text === "plain") await store.forget(owner, first.entry.id);
      return result;
    },
  }),
};

export const erasesNothing: Sabotage = fsWith((fs) => ({
  write: async (fd, bytes, position) => (isErase(bytes) ? bytes.length : fs.write(fd, bytes, position)),
}));

export const writesRefused: Sabotage = {
  store: (store) => ({
    append: async (owner, entries) => {
      const result = await store.append(owner, entries);
      if (result.outcomes.every(({ status }) => status === "refused"))
        await store.append(owner, [{ ...entries[0], id: "zz" }]);
      return result;
    },
  }),
};

export const forgetsSeqs: Sabotage = fsWith((fs) => ({
  // The number that no owner starts below is never kept.
  rename: (from, to) => (to.endsWith("/.seq") ? fs.unlink(from) : fs.rename(from, to)),
}));

export const skipsBetweenPages: Sabotage = {
  store: (store) => ({
    list: async (owner, query) => {
      const page = await store.list(owner, query);
      return page.next === undefined ? page : { ...page, next: { ...page.next, ord: page.next.ord - 1 } };
    },
  }),
};

export const searchesCaseSensitively: Sabotage = {
  store: (store) => ({
    async *recall(owner, query, signal) {
      const answer = store.recall(owner, query, signal);
      for (;;) {
        const next = await answer.next();
        if (next.done) return next.value;
        yield next.value.filter(({ text }) => text.includes(query.text));
      }
    },
  }),
};

/** Does something to each log before it is opened. */
const beforeOpening = (spoil: (path: string) => void): Sabotage =>
  fsWith((fs) => ({
    open: async (path, flags, mode) => {
      if (path.endsWith(".jsonl") && (flags & O_CREAT) === 0 && existsSync(path)) spoil(path);
      return fs.open(path, flags, mode);
    },
  }));

export const opensWithATrace = beforeOpening((path) => appendFileSync(path, "\n"));

export const cutsTooMuch = beforeOpening((path) => {
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf(NEWLINE);
  if (end < bytes.length - 1) truncateSync(path, Math.max(0, bytes.lastIndexOf(NEWLINE, end - 1) + 1));
});

export const deletesDamagedLines = beforeOpening((path) => {
  const lines = readFileSync(path, "latin1").split("\n");
  const sound = lines.filter((line) => {
    const [, open, crc] = /^(.*),"crc":(\d+)\}$/s.exec(line) ?? [];
    return line === "" || (open !== undefined && crc32(Buffer.from(open, "latin1")) === Number(crc));
  });
  writeFileSync(path, sound.join("\n"), "latin1");
});

export const syncsNothing: Sabotage = fsWith(() => ({ fdatasync: async () => {} }));

export const copiesBadly: Sabotage = fsWith((fs) => {
  const copies = new Set<number>();
  return {
    open: async (path, flags, mode) => {
      const fd = await fs.open(path, flags, mode);
      if (/jsonl\.\d+\.tmp$/.test(path)) copies.add(fd);
      else copies.delete(fd);
      return fd;
    },
    write: async (fd, bytes, position) => {
      const text = Buffer.from(bytes);
      const at = text.indexOf('"text":"');
      if (copies.has(fd) && at >= 0) text[at + 8] ^= 1;
      return fs.write(fd, text, position);
    },
  };
});

export const losesForeignFiles: Sabotage = fsWith((fs) => ({
  rename: async (from, to) => {
    const note = join(from, "note.txt");
    if (to.endsWith("/payload") && existsSync(note)) writeFileSync(note, "something else");
    await fs.rename(from, to);
  },
}));

export const countsNoDrops: Sabotage = {
  store: (store) => ({
    append: async (owner, entries) => ({ ...(await store.append(owner, entries)), droppedByCaps: 0 }),
  }),
};

export const turnsTiesAround: Sabotage = {
  store: (store) => ({
    list: async (owner, query) => {
      const page = await store.list(owner, query);
      return { ...page, entries: [...page.entries].sort((a, b) => (a.ts === b.ts ? b.ord - a.ord : 0)) };
    },
  }),
};

export const mixesOwners: Sabotage = {
  store: (store) => ({
    append: (owner, entries) => store.append(owner.id === "b" ? { ...owner, id: "a" } : owner, entries),
  }),
};

export const takesRetriesForNew: Sabotage = {
  store: (store) => ({
    append: async (owner, entries) => {
      const result = await store.append(owner, entries);
      const outcomes = result.outcomes.map((one) =>
        one.status === "already" ? { ...one, status: "stored" as const } : one,
      );
      return { ...result, outcomes };
    },
  }),
};

export const watchesNoDeletions: Sabotage = {
  store: (store) => ({
    async *watch(owner, query, signal) {
      for await (const step of store.watch(owner, query, signal))
        yield { ...step, changes: step.changes.filter((change) => "upserted" in change) };
    },
  }),
};

/** Erases a few bytes too many. */
export const erasesTooMuch: Sabotage = fsWith((fs) => ({
  write: async (fd, bytes, position) => {
    if (!isErase(bytes)) return fs.write(fd, bytes, position);
    const more = Buffer.alloc(bytes.length + 40, NEWLINE);
    return Math.min(bytes.length, await fs.write(fd, more, position));
  },
}));
