import type { Sample } from "../sample.js";
import { requirePeer } from "./install-peers.js";

interface Statement {
  run(...values: readonly unknown[]): { readonly lastInsertRowid: number };
  all(...values: readonly unknown[]): unknown[];
}

interface Database {
  exec(sql: string): void;
  pragma(text: string): unknown;
  prepare(sql: string): Statement;
  transaction<A extends readonly unknown[]>(body: (...args: A) => void): (...args: A) => void;
  close(): void;
}

// The texts are stored once, in entries. columnsize serves ranking only.
const SCHEMA = `
  CREATE TABLE entries(
    rowid INTEGER PRIMARY KEY, id TEXT NOT NULL, ts INTEGER NOT NULL, text TEXT NOT NULL, meta TEXT NOT NULL
  );
  CREATE INDEX entries_ts ON entries(ts);
  CREATE VIRTUAL TABLE entries_fts USING fts5(
    text, content='entries', content_rowid='rowid', tokenize='trigram', columnsize=0
  );`;

/** SQLite in this process, with a trigram index. Entries come oldest first, so that rowids order them as (ts, rowid). */
export class SqlitePeer {
  private readonly db: Database;
  private readonly insertEntry: Statement;
  private readonly insertText: Statement;
  private readonly byFts: Statement;
  private readonly byLike: Statement;
  private readonly addOne: (sample: Sample) => void;
  private newestTs = Number.NEGATIVE_INFINITY;

  /** Makes a new database in the file. */
  constructor(path: string) {
    const Database = requirePeer<new (path: string) => Database>("better-sqlite3");
    this.db = new Database(path);
    this.db.pragma("journal_mode = WAL");
    this.db.pragma("synchronous = FULL");
    // As much as it takes, 2 GiB: a scan then reads the page cache without copying it, a quarter faster.
    this.db.pragma("mmap_size = 2147418112");
    this.db.exec(SCHEMA);
    this.insertEntry = this.db.prepare("INSERT INTO entries(id, ts, text, meta) VALUES (?, ?, ?, ?)");
    this.insertText = this.db.prepare("INSERT INTO entries_fts(rowid, text) VALUES (?, ?)");
    this.byFts = this.db.prepare(
      `SELECT e.id, e.ts, e.text, e.meta FROM entries_fts f JOIN entries e ON e.rowid = f.rowid
       WHERE entries_fts MATCH ? ORDER BY f.rowid DESC LIMIT ?`,
    );
    this.byLike = this.db.prepare(
      "SELECT id, ts, text, meta FROM entries WHERE text LIKE ? ESCAPE '\\' ORDER BY rowid DESC LIMIT ?",
    );
    this.addOne = this.db.transaction((sample: Sample) => this.insert(sample));
  }

  /** In one transaction; leaves nothing in the write-ahead log and the index in one segment. */
  load(samples: Iterable<Sample>): void {
    this.db.transaction(() => {
      for (const sample of samples) this.insert(sample);
    })();
    this.db.exec("INSERT INTO entries_fts(entries_fts) VALUES ('optimize')");
    this.db.exec("ANALYZE");
    this.db.pragma("wal_checkpoint(TRUNCATE)");
  }

  /** One entry, synced to the disk when this returns. */
  add(sample: Sample): void {
    this.addOne(sample);
  }

  /** The newest that hold the needle, by the index. It finds nothing for needles under 3 characters. */
  fts(needle: string, k: number): Sample[] {
    return this.byFts.all(`"${needle.replaceAll('"', '""')}"`, k) as Sample[];
  }

  /** The newest that hold the needle, by a scan. Case is ignored in ASCII only. */
  like(needle: string, k: number): Sample[] {
    return this.byLike.all(`%${needle.replace(/[\\%_]/g, "\\$&")}%`, k) as Sample[];
  }

  close(): void {
    this.db.close();
  }

  private insert({ id, ts, text, meta }: Sample): void {
    if (ts < this.newestTs) throw new Error(`${id} is older than the one before. Give the oldest first.`);
    this.newestTs = ts;
    const { lastInsertRowid } = this.insertEntry.run(id, ts, text, meta);
    this.insertText.run(lastInsertRowid, text);
  }
}
