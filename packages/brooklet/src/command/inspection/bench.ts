/** `brooklet bench`: how long searches of one's own data take, and how many bytes they read. */
import { type Client, connect } from "../../node/connect.ts";
import { fileText } from "../given-file.ts";
import { parametersOf } from "../query.ts";
import { type Server, serverOf } from "../server.ts";
import { ServerFailure, type Surroundings, UsageError } from "../surroundings.ts";
import { contentClusters, visitLines } from "../visit.ts";

/** Options of the command. */
export interface BenchCommand extends Server {
  /** Whose documents; some that there are unless it is said. */
  readonly group?: readonly string[];
  /** A file of queries, a line each, as `query` takes one word of: YQL, or words. */
  readonly queries?: string;
  readonly requests: number;
  readonly concurrency: number;
  readonly json?: boolean;
}

/** One search: whose, by what parameters. */
type Search = Readonly<Record<string, string>>;

/** What one search was: milliseconds from the request to the answer, and what the server says of it. */
interface Measured {
  readonly ms: number;
  readonly serverMs: number;
  readonly bytesRead: number;
  readonly bytesScanned: number;
  readonly matches: number;
}

/** Of many values: the median, 90 and 99 in a hundred, and the largest. */
export interface Spread {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

const GROUPS_TAKEN = 10;
const DOCUMENTS_READ = 20;
const WORDS_OF_A_GROUP = 10;
const WORD = /[\p{L}\p{N}]{4,}/gu;
const TIMEOUT = "60s";
const MS_PER_SECOND = 1_000;
const BYTES_PER_KB = 1_000;

/** Searches, and prints what came of it. Fails if a search fails. */
export async function runBench(
  words: readonly string[],
  command: BenchCommand,
  surroundings: Surroundings,
): Promise<void> {
  const client = connect(serverOf(command));
  const searches = await searchesOf(words, command, client);
  // Once each before it counts: what is read first is read from the disk.
  for (const search of searches) await measure(client, search);
  const all: Measured[] = [];
  const beganMs = performance.now();
  let begun = 0;
  const work = async (): Promise<void> => {
    while (begun < command.requests) {
      const search = searches[begun % searches.length] as Search;
      begun += 1;
      all.push(await measure(client, search));
      surroundings.progress(`${all.length} of ${command.requests} searches`);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(command.concurrency, command.requests) }, work));
  } finally {
    surroundings.progress("");
  }
  const seconds = (performance.now() - beganMs) / MS_PER_SECOND;
  tell(reportOf(all, seconds, searches), command, surroundings);
}

/** What a bench prints as JSON; times in milliseconds. */
function reportOf(
  all: readonly Measured[],
  seconds: number,
  searches: readonly Search[],
): {
  readonly searches: number;
  readonly queries: number;
  readonly groups: number;
  readonly perSecond: number;
  readonly ms: Spread;
  readonly serverMs: Spread;
  readonly bytesRead: Spread;
  readonly bytesScanned: Spread;
  readonly matches: Spread;
} {
  const of = (name: keyof Measured): Spread => spreadOf(all.map((one) => one[name]));
  return {
    searches: all.length,
    queries: new Set(searches.map(({ yql, words }) => `${yql} ${words}`)).size,
    groups: new Set(searches.map((search) => search["streaming.groupname"])).size,
    perSecond: all.length / seconds,
    ms: of("ms"),
    serverMs: of("serverMs"),
    bytesRead: of("bytesRead"),
    bytesScanned: of("bytesScanned"),
    matches: of("matches"),
  };
}

function tell(report: ReturnType<typeof reportOf>, { json }: BenchCommand, { print }: Surroundings): void {
  if (json === true) {
    print(JSON.stringify(report));
    return;
  }
  const { searches, queries, groups, perSecond, ms, serverMs, bytesRead, bytesScanned, matches } = report;
  const row = (name: string, { p50, p90, p99, max }: Spread, shown: (value: number) => string): string =>
    [name.padEnd(16), ...[p50, p90, p99, max].map((value) => shown(value).padStart(10))].join("");
  const time = (value: number): string => `${value.toFixed(2)} ms`;
  const bytes = (value: number): string => `${(value / BYTES_PER_KB).toFixed(1)} KB`;
  print(`${searches} searches (${queries} queries, ${groups} groups), ${perSecond.toFixed(0)} a second`);
  print([" ".repeat(16), ...["p50", "p90", "p99", "most"].map((title) => title.padStart(10))].join(""));
  print(row("answered in", ms, time));
  print(row("of that searched", serverMs, time));
  print(row("read from disk", bytesRead, bytes));
  print(row("looked through", bytesScanned, bytes));
  print(row("matches", matches, (value) => value.toFixed(0)));
}

/** The value that so many in a hundred are not above. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((left, right) => left - right);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

/** Every query of every group; without queries, words that stand in documents of the groups. */
async function searchesOf(words: readonly string[], command: BenchCommand, client: Client): Promise<readonly Search[]> {
  const said = saidQueries(words, command.queries);
  const groups = command.group ?? (await someGroups(client));
  if (groups.length === 0)
    throw new UsageError(`${command.url} has no group with documents: there is nothing to search`);
  const searches: Search[] = [];
  for (const group of groups) {
    const queries = said.length > 0 ? said : (await wordsOf(command, group)).map((word) => [word]);
    for (const query of queries) searches.push(parametersOf(query, group));
  }
  if (searches.length === 0) throw new UsageError("the documents have no words to search for: give queries");
  return searches;
}

function saidQueries(words: readonly string[], file: string | undefined): readonly (readonly string[])[] {
  const own = words.length === 0 ? [] : [words];
  if (file === undefined) return own;
  const lines = fileText(file)
    .split("\n")
    .map((line) => line.trim());
  return [...own, ...lines.filter((line) => line !== "").map((line) => [line])];
}

async function someGroups(client: Client): Promise<readonly string[]> {
  const groups: string[] = [];
  for await (const group of client.groups()) {
    groups.push(group);
    if (groups.length === GROUPS_TAKEN) break;
  }
  return groups;
}

/** Words of the first documents of a group, each once: those that stand in the middle of what there is, by the alphabet. */
async function wordsOf(server: Server, group: string): Promise<readonly string[]> {
  const found = new Set<string>();
  let documents = 0;
  for (const cluster of await contentClusters(server)) {
    const selection = `id.group == ${JSON.stringify(group)}`;
    for await (const line of visitLines(server, { selection, cluster })) {
      const { fields = {} } = JSON.parse(line) as { readonly fields?: Readonly<Record<string, unknown>> };
      for (const value of Object.values(fields))
        for (const [word] of typeof value === "string" ? value.matchAll(WORD) : []) found.add(word.toLowerCase());
      documents += 1;
      if (documents >= DOCUMENTS_READ) break;
    }
  }
  const sorted = [...found].sort();
  const step = Math.max(1, Math.floor(sorted.length / WORDS_OF_A_GROUP));
  return sorted.filter((_, index) => index % step === 0).slice(0, WORDS_OF_A_GROUP);
}

async function measure(client: Client, search: Search): Promise<Measured> {
  const body = JSON.stringify({ timeout: TIMEOUT, "presentation.timing": true, ...search });
  const beganMs = performance.now();
  const answer = await client.request({ method: "POST", target: "/search/", body, isRepeatable: true });
  const ms = performance.now() - beganMs;
  const { root, timing } = answer.json as {
    readonly root: {
      readonly fields?: { readonly totalCount?: number };
      readonly errors?: readonly { readonly message: string; readonly name?: string }[];
    };
    readonly timing?: { readonly searchtime?: number; readonly bytesread?: number; readonly bytesscanned?: number };
  };
  const [error] = root.errors ?? [];
  if (error !== undefined) throw new ServerFailure(`a search failed: ${error.message}`, error.name);
  return {
    ms,
    serverMs: (timing?.searchtime ?? 0) * MS_PER_SECOND,
    bytesRead: timing?.bytesread ?? 0,
    bytesScanned: timing?.bytesscanned ?? 0,
    matches: root.fields?.totalCount ?? 0,
  };
}
