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

  it("cites tests that there are", () => {
    const cited = [...page.matchAll(/^\| S(\d+) \| .* \| `([\w/-]+\.test\.ts)`: "(.+)" \|$/gm)];
    expect(cited.map(([, number]) => Number(number))).toEqual(cited.map((_, i) => i + 1));
    expect(cited.length).toBeGreaterThan(0);
    expect(page.match(/^\| S\d+ \|/gm)).toHaveLength(cited.length);
    for (const [, , path = "", title] of cited) expect(read(path), path).toContain(`"${title}"`);
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
