/**
 * The goals, and how each is measured. A row is of a run, which is a script of its own; `figure` works its figure out of those that the
 * script told, one repetition at a time; `most` or `least` is the goal; `beside` is the figure of a peer, or what else it is to be read with.
 */
const LATEST = Number(process.versions.node.split(".")[0]) >= 22;
const number = "([\\d.]+)";
const pattern = (text) => new RegExp(text.replaceAll("#", number), "gm");

/**
 * What is run. `words` are those of the script, by how often it is to measure and whether only a little; `repeats`: it measures once, so that
 * it is run again and again; `patterns`: the figures in what it prints, where it tells none.
 */
export const RUNS = {
  vectors: { words: told("bench/goals/beside.mjs", "vectors") },
  texts: { words: told("bench/goals/beside.mjs", "texts") },
  hybrid: { words: told("bench/goals/beside.mjs", "hybrid") },
  sdk: {
    repeats: true,
    words: ({ small }) => ["bench/sdk.mjs", ...(small ? ["--quick"] : [])],
    patterns: {
      core: pattern("^1000 documents, nearest of a vector: core # ms"),
      above: pattern("^1000 documents, nearest of a vector: .*\\(\\+#"),
      feed: pattern("^group.feed: #"),
      put: pattern("^group.put, 64 at a time: #"),
    },
  },
  interleaved: { words: told("bench/goals/interleaved.mjs") },
  cold: {
    repeats: true,
    words: () => ["bench/cold.mjs"],
    patterns: {
      bare: pattern("^bare Node: # ms"),
      import: pattern("^import 'brooklet': .*\\(# ms over it"),
      stored: pattern("^open 1000 stored documents, first search: .*\\(# ms over it"),
    },
  },
  feed: {
    repeats: true,
    words: () => ["bench/feed.mjs"],
    environment: ({ small }) => ({ BROOKLET_BENCH_DOCUMENTS: small ? "2000" : "30000" }),
    patterns: {
      http2: pattern("^HTTP/2, one by one: #"),
      empty: pattern("^HTTP/2, an empty server of Node's, one by one: #"),
    },
  },
  bulk: {
    repeats: true,
    words: () => ["bench/feed.mjs", "--in-process"],
    environment: ({ small }) => ({ BROOKLET_BENCH_DOCUMENTS: small ? "5000" : "1000000" }),
    patterns: { bulk: pattern("^in process, in bulk: #"), single: pattern("^in process, one by one: #") },
  },
  million: { words: told("bench/goals/million.mjs") },
  erasure: { words: told("bench/goals/erasure.mjs") },
  bytes: {
    words: ({ small }) => [
      "bench/stored.mjs",
      ...["--words", "350", "--cases", "vectors,texts", "--documents", small ? "200" : "10000"],
    ],
    patterns: {
      vectors: pattern("^vectors: # bytes on disk"),
      texts: pattern("^texts: # bytes on disk"),
      given: pattern("^texts: .*\\(# of text given"),
      whole: pattern("^texts: .*, # with the free pages"),
      fts5: pattern("^texts: .*, # in FTS5"),
    },
  },
  wide: {
    words: ({ small, times }) => [
      "bench/wide.mjs",
      ...["--documents", "20", "--threads", "0", "--times", String(times)],
      ...(small ? ["--quick"] : []),
    ],
    patterns: {
      group: pattern("^everything, 0 threads: .* # µs a group"),
      one: pattern("^everything, 0 threads: .*one group # ms"),
    },
  },
};

function told(script, ...parts) {
  return ({ small, times }) => [script, ...parts, "--times", String(times), ...(small ? ["--small"] : [])];
}

const cpu = (corpus, kind, peer) => (at) => at(`${corpus} ${kind} ${peer} cpu`);
const beside = (name, figure, unit = "ms") => ({ name, figure, unit });
/** How many times what a peer takes ours is faster. */
const times = (corpus, kind, ours, peer) => ({
  unit: "×",
  figure: (at) => cpu(corpus, kind, peer)(at) / cpu(corpus, kind, ours)(at),
  beside: beside(peer, cpu(corpus, kind, peer)),
});
const took = (corpus, kind, ours, peer) => ({
  unit: "ms",
  figure: cpu(corpus, kind, ours),
  beside: beside(peer, cpu(corpus, kind, peer)),
});

const FAISS = "faiss flat";
const SQLITE = "sqlite-vec f32";
const PAGE = "core, page cache";
const BOTH = "FTS5 and sqlite-vec";
const fixed = (at) => {
  const [small, large] = ["v1k", "v10k"].map((corpus) => cpu(corpus, "near", "core")(at));
  return small - (large - small) / 9;
};
const rateOver = (at) => at("http2") / at("empty");

export const ROWS = [
  {
    row: "core-fixed",
    run: "vectors",
    what: "Nearest of 1,000, core: what does not grow with documents, by two sizes",
    ...{ unit: "ms", figure: fixed, most: 0.09 },
    beside: beside("all of it", cpu("v1k", "near", "core")),
  },
  {
    row: "sdk-above-core",
    run: "sdk",
    what: "Nearest of 1,000: the SDK above the core, asked the same",
    ...{ unit: "ms", figure: (at) => at("above"), most: 0.08 },
    beside: beside("core", (at) => at("core")),
  },
  {
    row: "1k-sdk-sqlite-vec",
    run: "vectors",
    what: "Nearest of 1,000, SDK",
    ...times("v1k", "near", "SDK", SQLITE),
    least: 4,
  },
  {
    row: "1k-sdk-faiss",
    run: "vectors",
    what: "Nearest of 1,000, SDK",
    ...times("v1k", "near", "SDK", FAISS),
    least: 0.6,
  },
  {
    row: "10k-core-sqlite-vec",
    run: "vectors",
    what: "Nearest of 10,000, core",
    ...times("v10k", "near", "core", SQLITE),
    least: 20,
  },
  {
    row: "10k-sdk-sqlite-vec",
    run: "vectors",
    what: "Nearest of 10,000, SDK",
    ...times("v10k", "near", "SDK", SQLITE),
    least: 15,
  },
  {
    row: "10k-core-faiss",
    run: "vectors",
    what: `Nearest of 10,000, core, on Node ${LATEST ? "22 or later" : "20"}`,
    ...times("v10k", "near", "core", FAISS),
    least: LATEST ? 2 : 1.4,
  },
  {
    row: "10k-page",
    run: "vectors",
    what: "Nearest of 10,000, page cache",
    ...took("v10k", "near", PAGE, SQLITE),
    most: 1.8,
  },
  {
    row: "10k-page-sqlite-vec",
    run: "vectors",
    what: "Nearest of 10,000, page cache",
    ...times("v10k", "near", PAGE, SQLITE),
    least: 4.5,
  },
  {
    row: "filter",
    run: "vectors",
    what: "Nearest of 10,000 with a filter of 10 %, of the time without it",
    ...{
      unit: "×",
      figure: (at) => cpu("v10k", "near-filter", "core")(at) / cpu("v10k", "near", "core")(at),
      most: 0.35,
    },
    beside: beside(FAISS, (at) => cpu("v10k", "near-filter", FAISS)(at) / cpu("v10k", "near", FAISS)(at), "×"),
  },
  {
    row: "million",
    run: "million",
    what: "Nearest of 1,000,000 in one group, two threads, by the clock",
    ...{ unit: "ms", figure: (at) => at("two threads"), most: 25 },
    beside: beside("one thread", (at) => at("one thread")),
  },
  {
    row: "interleaved",
    run: "interleaved",
    what: "Right after 100 interleaved users are fed, of when they are settled",
    ...{ unit: "×", figure: (at) => at("right after") / at("settled"), most: 1.3 },
    beside: beside("settled", (at) => at("settled")),
  },
  {
    row: "cold-import",
    run: "cold",
    what: "A new process: the import, over bare Node",
    ...{ unit: "ms", figure: (at) => at("import"), most: 80 },
    beside: beside("bare Node", (at) => at("bare")),
  },
  {
    row: "cold-open",
    run: "cold",
    what: "A new process: open 1,000 stored documents and search, over the import",
    ...{ unit: "ms", figure: (at) => at("stored") - at("import"), most: 40 },
    beside: beside("bare Node", (at) => at("bare")),
  },
  {
    row: "feed",
    run: "sdk",
    what: "`group.feed`, a core",
    unit: "documents/s",
    figure: (at) => at("feed"),
    least: 30_000,
  },
  {
    row: "bulk",
    run: "bulk",
    what: "1,000,000 documents in bulk with their merges, a core",
    ...{ unit: "documents/s", figure: (at) => at("bulk"), least: 40_000 },
    beside: beside("one by one", (at) => at("single"), "documents/s"),
  },
  {
    row: "put",
    run: "sdk",
    what: "`group.put`, 64 at a time, a core",
    unit: "documents/s",
    figure: (at) => at("put"),
    least: 15_000,
  },
  {
    row: "http2",
    run: "feed",
    what: "HTTP/2 one by one, a core; or 0.6 of an empty server",
    ...{ unit: "documents/s", figure: (at) => at("http2"), least: 10_000, orMet: (at) => rateOver(at) >= 0.6 },
    beside: beside("an empty server", (at) => at("empty"), "documents/s"),
  },
  ...[
    [1_000, 10],
    [10_000, 10],
    [100_000, 30],
  ].map(([size, most]) => ({
    row: `erase-${size / 1_000}k`,
    run: "erasure",
    what: `A user of ${size.toLocaleString("en")} documents erased`,
    ...{ unit: "ms", figure: (at) => at(String(size)), most },
    beside: beside("with its receipt", (at) => at(`receipt ${size}`)),
  })),
  {
    row: "erase-bytes",
    run: "erasure",
    what: "… and the bytes of the largest gone from the files",
    unit: "s",
    figure: (at) => at("gone"),
    most: 60,
  },
  {
    row: "text-2-core",
    run: "texts",
    what: "Two words, 1,000 documents, core",
    ...took("t1k", "words-2", "core", "FTS5"),
    most: 0.1,
  },
  {
    row: "text-4-core",
    run: "texts",
    what: "Four words, 1,000 documents, core",
    ...took("t1k", "words-4", "core", "FTS5"),
    most: 0.12,
  },
  {
    row: "text-2-sdk",
    run: "texts",
    what: "Two words, 1,000 documents, SDK",
    ...took("t1k", "words-2", "SDK", "FTS5"),
    most: 0.18,
  },
  {
    row: "text-4-sdk",
    run: "texts",
    what: "Four words, 1,000 documents, SDK",
    ...took("t1k", "words-4", "SDK", "FTS5"),
    most: 0.2,
  },
  {
    row: "hybrid-core",
    run: "hybrid",
    what: "Words and vector, 10,000 documents, core",
    ...took("h10k", "hybrid", "core", BOTH),
    most: 0.7,
  },
  {
    row: "hybrid-sdk",
    run: "hybrid",
    what: "Words and vector, 10,000 documents, SDK",
    ...took("h10k", "hybrid", "SDK", BOTH),
    most: 0.8,
  },
  {
    row: "hybrid-page",
    run: "hybrid",
    what: "Words and vector, 10,000 documents, page cache, p95 by the clock",
    ...{ unit: "ms", figure: (at) => at(`h10k hybrid ${PAGE} p95`), most: 4 },
    beside: beside(BOTH, (at) => at(`h10k hybrid ${BOTH} p95`)),
  },
  {
    row: "bytes-vector",
    run: "bytes",
    what: "Bytes of a document with a bfloat16 vector of 384",
    unit: "bytes",
    figure: (at) => at("vectors"),
    most: 1_300,
  },
  {
    row: "bytes-text",
    run: "bytes",
    what: "Bytes of a document with a text of 1.9 KB",
    ...{ unit: "bytes", figure: (at) => at("texts"), most: 2_000 },
    beside: beside("FTS5", (at) => at("fts5"), "bytes"),
  },
  {
    row: "bytes-file",
    run: "bytes",
    what: "… and with the free pages of the files",
    ...{ unit: "bytes", figure: (at) => at("whole"), most: 2_000 },
    beside: beside("text given", (at) => at("given"), "bytes"),
  },
  {
    row: "wide",
    run: "wide",
    what: "A search over 10,000 groups of 20, a group",
    ...{ unit: "µs", figure: (at) => at("group"), most: 40 },
    beside: beside("all in one group", (at) => at("one")),
  },
];
