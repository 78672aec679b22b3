import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { memoryOptions } from "@reverie/memory-service";
import { ErrorReason } from "@reverie/proto/info";
import { MemoryService, OwnerService, TrashService } from "@reverie/proto/memory";
import { describeOptions } from "@reverie/service-kit";
import { describe, expect, it } from "vitest";
import { root } from "../lib/repo.js";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const pages = ["README.md", "CONTRIBUTING.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)];

describe("docs/api.md", () => {
  const page = read("docs/api.md");

  it("has a row for each reason, with its status, and for no other", () => {
    const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| ([A-Z_]+) \| (.+) \|$/gm)];
    const reasons = Object.keys(ErrorReason).filter((name) => /^[A-Z]/.test(name) && name !== "UNSPECIFIED");
    expect(rows.map(([, reason]) => reason)).toEqual(reasons);
    const contract = read("proto/reverie/info/v1/error_reason.proto");
    const statuses = [
      ...contract.matchAll(/^ {2}\/\/ ([A-Z_]+): (?:\n|(?!ERROR_REASON_).)*ERROR_REASON_([A-Z_]+) =/gm),
    ];
    expect(Object.fromEntries(rows.map(([, reason, status]) => [reason, status]))).toEqual(
      Object.fromEntries(statuses.map(([, status, reason]) => [reason, status])),
    );
  });

  it("names each method", () => {
    for (const service of [MemoryService, OwnerService, TrashService]) {
      const row = page.split("\n").find((line) => line.startsWith(`| \`${service.typeName}\` |`));
      expect(row?.split("|")[2]?.trim().split(", ")).toEqual(service.methods.map(({ name }) => name));
    }
  });
});

describe("docs/operations.md", () => {
  it("has the table of options as the service has them", () => {
    const rows = describeOptions(memoryOptions).map(({ key, type, default: standard, unit, help }) => {
      const of = unit === "" ? type.replaceAll(" | ", ", ") : unit;
      return `| \`${key}\` | ${of} | ${standard === "" ? "" : `\`${standard}\``} | ${help} |`;
    });
    const table = ["| option | value | default | |", "|---|---|---|---|", ...rows].join("\n");
    const begin = "<!-- options: what describeOptions says -->\n";
    const found = read("docs/operations.md").split(begin)[1]?.split("\n<!-- end of options -->")[0];
    // The table to paste is in the failure's message.
    expect(found).toBe(table);
  });

  it("names each metric of ours", () => {
    const page = read("docs/operations.md");
    for (const path of ["service-kit/src/rpc/rpc-metrics.ts", "memory-service/src/metrics.ts"]) {
      for (const [, name] of read(path).matchAll(/name: "(reverie_\w+)"/g)) expect(page).toContain(`\`${name}\``);
    }
  });
});

describe("docs/storage.md", () => {
  const page = read("docs/storage.md");
  const rowsOf = (letter: string): { number: number; cited: string }[] =>
    [...page.matchAll(new RegExp(`^\\| ${letter}(\\d+) \\| .* \\| (.+) \\|$`, "gm"))].map(([, number, cited = ""]) => ({
      number: Number(number),
      cited,
    }));
  const testOf = (cited: string): { path: string; title: string } | undefined => {
    const [, path, title] = /^`([\w/-]+\.test\.ts)`: "(.+)"$/.exec(cited) ?? [];
    return path === undefined || title === undefined ? undefined : { path, title };
  };

  it.each(["S", "C"])("numbers %s1 and those after it in turn", (letter) => {
    const rows = rowsOf(letter);
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.map(({ number }) => number)).toEqual(rows.map((_, i) => i + 1));
  });

  it("cites tests that there are, for each invariant one of the invariants'", () => {
    for (const { number, cited } of rowsOf("S"))
      expect(testOf(cited)?.path, `S${number}`).toMatch(/^memory-service\/test\/store\/invariants\//);
    for (const { cited } of [...rowsOf("S"), ...rowsOf("C")]) {
      const test = testOf(cited);
      if (test !== undefined) expect(read(test.path), test.path).toContain(`"${test.title}"`);
    }
  });

  it("cites measures that the scorecard has", () => {
    const folders = readdirSync(join(root, "test/torture"), { withFileTypes: true }).filter((one) => one.isDirectory());
    const files = folders
      .map(({ name }) => `test/torture/${name}/part.ts`)
      .filter((path) => existsSync(join(root, path)));
    const measures = files.flatMap((path) => [...read(path).matchAll(/id: "(\w+)", unit/g)].map(([, id]) => id));
    for (const { number, cited } of rowsOf("C")) {
      if (testOf(cited) !== undefined) continue;
      const [, list = ""] = /^`npm run torture`: ((?:`\w+`(?:, )?)+)$/.exec(cited) ?? [];
      expect(list, `C${number} cites neither a test nor a measure`).not.toBe("");
      for (const [, id] of list.matchAll(/`(\w+)`/g)) expect(measures).toContain(id);
    }
  });
});

describe("the pages", () => {
  it("show lines whose checksum is their own", () => {
    const lines = pages.flatMap((page) => [...read(page).matchAll(/^(\{.*),"crc":(\d+)\}$/gm)]);
    expect(lines.length).toBeGreaterThan(1);
    for (const [, open = "", crc] of lines) expect(String(crc32(open))).toBe(crc);
  });

  it("link to files and headings that there are", () => {
    const broken: string[] = [];
    for (const page of pages) {
      for (const [, path = "", heading] of read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
        const target = path === "" ? page : join(dirname(page), path);
        if (!existsSync(join(root, target))) broken.push(`${page}: ${path}`);
        else if (heading !== undefined && !headings(read(target)).includes(heading))
          broken.push(`${page}: #${heading}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("name commands that package.json has", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    for (const page of pages) {
      for (const [, name = ""] of read(page).matchAll(/npm run ([\w:]+)/g))
        expect(scripts, page).toHaveProperty([name]);
    }
  });
});

/** As the anchors that Markdown renderers make of them. */
function headings(page: string): string[] {
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
