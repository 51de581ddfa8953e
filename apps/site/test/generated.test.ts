/** What pages are generated from: the text of commands, the sources of limits, records of benches. */
import { expect, test } from "vitest";
import { anchorOf } from "../config.mjs";
import { drawn, readRows } from "../generated/benchmarks.mjs";
import { readHelp } from "../generated/commands.mjs";
import { coreLimits } from "../generated/limits.mjs";
import { firstSentence } from "../llms.mjs";

test("the help of a command is read whole, also what goes on in the next line", () => {
  const help = `Usage: brooklet feed [options] <file>

put, update and remove the documents of a file (JSON, one operation after the
other)

Arguments:
  file                   the file; - for the standard input

Options:
  --url <url>            the server (default: "http://localhost:8080")
  --concurrency <count>  operations under way at a time, where the server takes
                         them one by one (default: 64)
  --model-cache-of-a-long-name <dir>
                         a folder
  -h, --help             display help for command
`;
  const { usage, description, lists } = readHelp(help);
  expect(usage).toBe("brooklet feed [options] <file>");
  expect(description).toBe("put, update and remove the documents of a file (JSON, one operation after the other)");
  expect(lists["Arguments"]).toEqual([["file", "the file; - for the standard input"]]);
  expect(lists["Options"]?.[1]).toEqual([
    "--concurrency <count>",
    "operations under way at a time, where the server takes them one by one (default: 64)",
  ]);
  expect(lists["Options"]?.[2]).toEqual(["--model-cache-of-a-long-name <dir>", "a folder"]);
});

test("limits are read with their units, and one that is no number is refused", () => {
  const source =
    "/// Longest id, bytes (L-id).\npub const ID: usize = 4_096;\n/// Hits of one\n/// answer.\npub const HITS: usize = 400;\n";
  expect(coreLimits(source)).toEqual([
    ["Longest id, bytes (L-id).", "4 KiB"],
    ["Hits of one answer.", "400"],
  ]);
  expect(coreLimits("/// Bytes of a block.\npub const B: usize = 3 << 19;\n")).toEqual([
    ["Bytes of a block.", "1.5 MiB"],
  ]);
  expect(() => coreLimits("/// Bytes.\npub const B: usize = OTHER;\n")).toThrow("B is OTHER");
});

test("a record is drawn with the last row of each peer, ours apart from others, the quickest first", () => {
  const record = [
    "commit,node,processor,corpus,groups,documents,peer,version,search,cpu_ms,p50_ms,p95_ms,recall",
    "abc,20.1.0,A processor,notes,1,1000,core,0.1.0,near,1,9,12,1",
    "abc,20.1.0,A processor,notes,1,1000,other & co,2.0,near,30,40,50,0.97",
    "abc,20.1.0,A processor,notes,1,1000,core,0.1.0,near,1,4,12,1",
  ].join("\n");
  const page = drawn("2026-01-01-a.csv", readRows(record));
  expect(page).toContain("A processor, Node 20.1.0, commit abc");
  expect(page).toContain("## notes: 1,000 documents in one group");
  expect(page).toContain("| brooklet, core | 4 | 12 | 1 | 1.000 |");
  expect(page).toContain("| other & co 2.0 | 40 |");
  expect(page).not.toContain("| 9 |");
  expect(page).toContain("other &amp; co: 40 ms");
  expect(page.indexOf('class="ours"')).toBeLessThan(page.indexOf('class="other"'));
  const widths = [...page.matchAll(/<rect class="\w+" [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width));
  expect(widths[0]).toBeLessThan(widths[1] ?? 0);
});

test("a record tells ratios to the SDK first, and everything at which another is better", () => {
  const head =
    "commit,node,processor,corpus,groups,documents,peer,version,search,cpu_ms,p50_ms,p95_ms,recall,fed_per_cpu_s,bytes_per_document";
  const row = (peer: string, version: string, search: string, ...figures: readonly number[]): string =>
    ["abc,20.1.0,A processor,v1k,100,1000", peer, version, search, ...figures].join(",");
  const record = [
    head,
    row("SDK", "Node 20", "near", 2, 2, 3, 1, 1_000, 100),
    row("SDK", "Node 20", "words-2", 4, 4, 5, 1, 1_000, 100),
    row("SDK; page cache", "Node 20", "near", 1, 3, 4, 1, 1_000, 100),
    row("slow", "slow 3.1", "near", 30, 30, 40, 1, 900, 130),
    row("quick int8", "SQLite 3.5; quick v0.1", "near", 1, 1, 2, 0.986, 5_000, 50),
  ].join("\n");
  const page = drawn("2026-01-01-a.csv", readRows(record));
  expect(page).toContain("| | v1k, near | v1k, words-2 |\n|---|---:|---:|\n| brooklet, SDK | 1 | 1 |");
  // Ours is not told as another's.
  expect(page).toContain("| brooklet, SDK, page cache | 0.5 |  |");
  expect(page).toContain("| slow 3.1 | 15 |  |");
  expect(page).toContain("| quick int8 v0.1 | **0.5** (0.986) |  |");
  expect(page.split("\n").filter((line) => line.startsWith("* "))).toEqual([
    "* v1k, nearest neighbours, top 10: quick int8 0.5× (0.986)",
    "* v1k, feeding, documents a second of processor time: quick int8 5×",
    "* v1k, stored bytes a document: quick int8 0.5×",
  ]);
  expect(page.indexOf("## What we lose at")).toBeLessThan(page.indexOf("## v1k: 100 groups of 1,000 documents"));
});

test("corpora of texts, and of texts with vectors, are drawn with their own searches", () => {
  const head = "commit,node,processor,corpus,groups,documents,peer,version,search,cpu_ms,p50_ms,p95_ms,recall";
  const row = (corpus: string, size: string, peer: string, search: string, ms: number, recall: number): string =>
    ["abc,20.1.0,A processor", corpus, size, peer, "v3.1", search, ms, ms, ms * 2, recall].join(",");
  const words = ["words-2", "words-4", "words-filter"];
  const record = [
    head,
    row("v1k", "100,1000", "SDK", "near", 2, 1),
    ...words.flatMap((search, at) => [
      row("t1k", "20,1000", "SDK", search, 1 + at, -1),
      row("t1k", "20,1000", "FTS5", search, 0.5 * (1 + at), -1),
    ]),
    row("h10k", "2,10000", "SDK", "words-2", 3, -1),
    row("h10k", "2,10000", "SDK", "hybrid", 4, 1),
    row("h10k", "2,10000", "LanceDB", "hybrid", 40, 0.912),
  ].join("\n");
  const page = drawn("2026-01-01-a.csv", readRows(record));
  expect(page).toContain(
    "| | v1k, near | t1k, words-2 | t1k, words-4 | t1k, words-filter | h10k, words-2 | h10k, hybrid |",
  );
  expect(page).toContain("| FTS5 v3.1 |  | **0.5** | **0.5** | **0.5** |  |  |");
  expect(page).toContain("| LanceDB v3.1 |  |  |  |  |  | 10 (0.912) |");
  expect(page).toContain("* t1k, words under a filter: FTS5 0.5×");
  const sections = page.split(/^## (?=[vth]\d)/m).slice(1);
  const titles = sections.map((section) => [...section.matchAll(/^### (.*)$/gm)].map(([, title]) => title));
  expect(titles).toEqual([
    ["Nearest neighbours, top 10"],
    ["Two words, bm25", "Four words, bm25", "Words under a filter"],
    ["Two words, bm25", "Words and vector together"],
  ]);
  expect(sections.map((section) => section.split("\n", 1)[0])).toEqual([
    "v1k: 100 groups of 1,000 documents",
    "t1k: 20 groups of 1,000 documents",
    "h10k: 2 groups of 10,000 documents",
  ]);
  for (const section of sections) {
    const plots = [...section.matchAll(/<svg class="plot"[^>]*aria-label="([^"]*)"/g)].map(([, told]) => told ?? "");
    expect(plots).toHaveLength((section.match(/^### /gm) ?? []).length);
    for (const told of plots) expect(told).toMatch(/SDK: [\d.]+ ms/);
  }
  // Where nothing is to be missed no recall is told.
  expect(page).toMatch(/\| FTS5 v3\.1 \| 0\.5 \| 1 \| 0\.5 \| {2}\|/);
});

test("anchors are those of GitHub", () => {
  expect(anchorOf("`apps/worker/test/differences.json`")).toBe("appsworkertestdifferencesjson");
  expect(anchorOf("Assistants: one MCP address for all users")).toBe("assistants-one-mcp-address-for-all-users");
});

test("the first sentence of a page is told without its links", () => {
  expect(firstSentence("# A\n\nWhat [it](b.md) does\nis this. And more.\n\n## B\n")).toBe("What it does is this.");
});
