/** What pages are generated from: the text of commands, the sources of limits, records of benches. */
import { expect, test } from "vitest";
import { anchorOf } from "../config.mjs";
import { drawn, readRows } from "../generated/benchmarks.mjs";
import { readHelp } from "../generated/commands.mjs";
import { goalTable } from "../generated/goals.mjs";
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
  const page = drawn([{ name: "2026-01-01-a.csv", rows: readRows(record) }]);
  expect(page).toContain(
    "* notes: `bench/record/2026-01-01-a.csv`. Measured on 2026-01-01: A processor, Node 20.1.0, commit abc.",
  );
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
  const page = drawn([{ name: "2026-01-01-a.csv", rows: readRows(record) }]);
  expect(page).toContain("| | v1k, near | v1k, words-2 |\n|---|---:|---:|\n| brooklet, SDK | 1 | 1 |");
  // Ours is not told as another's.
  expect(page).toContain("| brooklet, SDK, page cache | 0.5 |  |");
  expect(page).toContain("| slow 3.1 | 15 |  |");
  expect(page).toContain("| quick int8 v0.1 | **0.5** (0.986) |  |");
  expect(page.split("\n").filter((line) => line.startsWith("* v1k,"))).toEqual([
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
  const page = drawn([{ name: "2026-01-01-a.csv", rows: readRows(record) }]);
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

test("of each corpus the newest record that has it is drawn, with its own day, machine and commit", () => {
  const head = "commit,node,processor,corpus,groups,documents,peer,version,search,cpu_ms,p50_ms,p95_ms,recall";
  const record = (commit: string, machine: string, rows: readonly string[]): string =>
    [head, ...rows.map((row) => `${commit},20.1.0,${machine},${row}`)].join("\n");
  const files = {
    "2026-03-01-b.csv": record("ccc", "New machine", ["t1k,20,1000,SDK,v1,words-2,7,7,8,-1"]),
    "2026-01-01-a.csv": record("aaa", "Old machine", [
      "v10k,10,10000,SDK,v1,near,5,5,6,1",
      "v1k,100,1000,SDK,v1,near,1,1,2,1",
      "t1k,20,1000,SDK,v1,words-2,3,3,4,-1",
    ]),
    "2026-02-01-a.csv": record("bbb", "Old machine", ["v1k,100,1000,SDK,v1,near,2,2,3,1"]),
  };
  const page = drawn(Object.entries(files).map(([name, text]) => ({ name, rows: readRows(text) })));
  const of = (corpus: string): string => page.split(/^## /m).find((section) => section.startsWith(`${corpus}:`)) ?? "";
  expect(of("v1k")).toContain("Measured on 2026-02-01: Old machine, Node 20.1.0, commit bbb.");
  expect(of("v1k")).toContain("| brooklet, SDK | 2 | 3 | 2 |");
  expect(of("v10k")).toContain("Measured on 2026-01-01: Old machine, Node 20.1.0, commit aaa.");
  expect(of("v10k")).toContain("| brooklet, SDK | 5 | 6 | 5 |");
  expect(of("t1k")).toContain("Measured on 2026-03-01: New machine, Node 20.1.0, commit ccc.");
  expect(of("t1k")).toContain("| brooklet, SDK | 7 | 8 | 7 |");
  expect(page).toContain("| | v1k, near | v10k, near | t1k, words-2 |");
  expect(page.match(/^\* .*$/gm)?.slice(0, 3)).toEqual([
    expect.stringMatching(/^\* v1k: `bench\/record\/2026-02-01-a\.csv`/),
    expect.stringMatching(/^\* v10k: `bench\/record\/2026-01-01-a\.csv`/),
    expect.stringMatching(/^\* t1k: `bench\/record\/2026-03-01-b\.csv`/),
  ]);
});

test("a model is drawn by its callers, a line for each way of running it, and is no corpus to be searched", () => {
  const head =
    "commit,node,processor,corpus,groups,documents,peer,version,search,callers,cpu_ms,p50_ms,p95_ms,texts_per_s";
  const row = (mode: string, callers: number, ms: number, rate: number): string =>
    ["abc,20.1.0,A processor,MiniLM,1,64", mode, "runtime 1.2", "embed", callers, 9, ms, ms * 2, rate].join(",");
  const record = [
    head,
    row("wide", 1, 10, 100),
    row("wide", 8, 80, 100),
    row("narrow", 1, 20, 50),
    row("narrow", 8, 40, 200),
    row("adaptive", 8, 99, 9),
    row("adaptive", 1, 10, 100),
    row("adaptive", 8, 40, 200),
  ].join("\n");
  const search = "commit,node,processor,corpus,groups,documents,peer,version,search,cpu_ms,p50_ms,p95_ms,recall";
  const page = drawn([
    { name: "2026-02-02-a-models.csv", rows: readRows(record) },
    { name: "2026-01-01-a.csv", rows: readRows(`${search}\nabc,20,P,v1k,1,1000,SDK,v1,near,1,1,2,1`) },
  ]);
  expect(page).toContain("| | v1k, near |\n");
  const section = page.slice(page.indexOf("## MiniLM: one text after another, by callers"));
  expect(page.indexOf("## v1k")).toBeLessThan(page.indexOf("## MiniLM"));
  expect(section).toContain("Measured on 2026-02-02: A processor, Node 20.1.0, commit abc. runtime 1.2, 64 texts.");
  // The last row of a way and a number of callers holds.
  expect(section).toContain("| adapts | 1 | 10 | 20 | 9 | 100 |\n| adapts | 8 | 40 | 80 | 9 | 200 |");
  expect(section).not.toContain("| 99 |");
  const plots = [...section.matchAll(/<svg class="plot"[^>]*aria-label="([^"]*)"[\s\S]*?<\/svg>/g)];
  expect(plots.map(([, told]) => told)).toEqual([
    expect.stringContaining("adapts: 10 ms at 1, 40 ms at 8; a core each: 20 ms at 1, 40 ms at 8;"),
    expect.stringContaining("all cores for one: 100 texts/s at 1, 100 texts/s at 8"),
  ]);
  const [svg = ""] = plots[0] ?? [];
  const lines = [...svg.matchAll(/<path class="line (\w+)" d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"/g)];
  expect(lines.map(([, kind]) => kind)).toEqual(["ours", "other", "other"]);
  // Both lines end at the same place, and their names do not stand on each other.
  expect(lines[0]?.slice(4)).toEqual(lines[1]?.slice(4));
  const names = [...svg.matchAll(/<text class="name" x="[\d.]+" y="([\d.]+)"/g)].map(([, y]) => Number(y));
  expect(Math.abs((names[0] ?? 0) - (names[1] ?? 0))).toBeGreaterThanOrEqual(16);
  // What takes longer stands higher.
  expect(Number(lines[2]?.[5])).toBeLessThan(Number(lines[2]?.[3]));
});

test("anchors are those of GitHub", () => {
  expect(anchorOf("`apps/worker/test/differences.json`")).toBe("appsworkertestdifferencesjson");
  expect(anchorOf("Assistants: one MCP address for all users")).toBe("assistants-one-mcp-address-for-all-users");
});

test("the first sentence of a page is told without its links", () => {
  expect(firstSentence("# A\n\nWhat [it](b.md) does\nis this. And more.\n\n## B\n")).toBe("What it does is this.");
});

test("goals are a table with the last of each row, and how many are met", () => {
  const record = [
    "commit,node,processor,row,what,times,unit,figure,beside,beside_unit,beside_figure,bound,goal,verdict",
    "abc,20.1.0,A processor,near,Nearest of 1;000,3,×,3.9,sqlite,ms,0.5,least,4,missed",
    "abc,20.1.0,A processor,put,`group.put`,3,documents/s,15123.4,,,,least,15000,met",
    "abc,20.1.0,A processor,near,Nearest of 1;000,3,×,4.25,sqlite,ms,0.512,least,4,met",
    "abc,20.1.0,A processor,erase,Erased,3,ms,12.5,,,,most,10,missed",
  ].join("\n");
  const page = goalTable([{ name: "2026-01-01-a-goals.csv", rows: readRows(record) }]);
  expect(page).toContain(
    "2 of 3 are met. A processor, Node 20.1.0, medians of 3; measured on 2026-01-01 at commit abc (`bench/record/2026-01-01-a-goals.csv`).",
  );
  expect(page.split("\n").filter((line) => line.startsWith("| "))).toEqual([
    "| | figure | beside it | goal | |",
    "| Nearest of 1,000 | 4.25× | sqlite: 0.51 ms | ≥ 4× | met |",
    "| `group.put` | 15,123 documents/s |  | ≥ 15,000 documents/s | met |",
    "| Erased | 12.5 ms |  | ≤ 10 ms | missed |",
  ]);
});

test("goals that were measured again have their later figures, and the others their own day", () => {
  const head = "commit,node,processor,row,what,times,unit,figure,beside,beside_unit,beside_figure,bound,goal,verdict";
  const row = (commit: string, name: string, figure: number) =>
    `${commit},20.1.0,A processor,${name},${name},3,ms,${figure},,,,most,10,${figure <= 10 ? "met" : "missed"}`;
  const page = goalTable([
    { name: "2026-01-01-a-goals.csv", rows: readRows([head, row("abc", "near", 12), row("abc", "put", 9)].join("\n")) },
    { name: "2026-01-02-a-goals.csv", rows: readRows([head, row("def", "near", 8)].join("\n")) },
  ]);
  expect(page).toContain("2 of 2 are met.");
  expect(page).toContain(
    "measured on 2026-01-01 at commit abc (`bench/record/2026-01-01-a-goals.csv`), and on 2026-01-02 at commit def (`bench/record/2026-01-02-a-goals.csv`).",
  );
  expect(
    page
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .slice(1),
  ).toEqual(["| near | 8 ms |  | ≤ 10 ms | met |", "| put | 9 ms |  | ≤ 10 ms | met |"]);
});
