/** The peers of the bench, and ourselves at each of our doors: what their drivers are, and what each is asked. */
/** Kinds of searches of vectors. */
export const VECTORS = ["near", "near-filter"];
/** Kinds of searches of texts. */
export const TEXTS = ["words-2", "words-4", "words-filter"];
/** Kinds of searches of both. */
export const BOTH = ["hybrid"];
const ours = (variant, name) => ({ name, language: "node", driver: "brooklet", variant, ours: true, exact: true });
/** `group.search` ranks words and a vector by a profile of its own. */
const typed = (variant, name) => ({ ...ours(variant, name), truths: { hybrid: "hybrid-typed" } });
const vectors = { kinds: VECTORS, exact: true };
/** Everybody who is asked. `truths`: which answers are the right ones, where a kind has several. */
export const PEERS = [
  { ...ours("core", "core"), kinds: [...VECTORS, ...TEXTS, ...BOTH] },
  { ...typed("sdk", "SDK"), kinds: [...VECTORS, ...TEXTS, ...BOTH] },
  { ...ours("page", "core, page cache"), kinds: [...VECTORS, ...TEXTS, ...BOTH] },
  { ...typed("sdk-page", "SDK, page cache"), kinds: [...VECTORS, ...TEXTS, ...BOTH] },
  { ...typed("http", "HTTP/1.1"), kinds: [...VECTORS, ...TEXTS, ...BOTH] },
  { name: "sqlite-vec f32", language: "node", driver: "sqlite", variant: "vec", needs: "npm", ...vectors },
  { name: "sqlite-vec int8", language: "node", driver: "sqlite", variant: "vec8", needs: "npm", kinds: VECTORS },
  {
    name: "LanceDB",
    language: "node",
    driver: "lancedb",
    variant: "table",
    needs: "npm",
    kinds: [...VECTORS, ...TEXTS],
    exact: true,
  },
  { name: "libsql", language: "node", driver: "libsql", variant: "f32", needs: "npm", ...vectors },
  { name: "DuckDB", language: "node", driver: "duckdb", variant: "arrays", needs: "npm", ...vectors },
  { name: "faiss flat", language: "python", driver: "faiss_peer.py", variant: "flat", needs: "python", ...vectors },
  { name: "faiss SQ8", language: "python", driver: "faiss_peer.py", variant: "sq8", needs: "python", kinds: VECTORS },
  { name: "FTS5", language: "node", driver: "sqlite", variant: "fts5", needs: "npm", kinds: TEXTS, exact: true },
  {
    name: "MiniSearch",
    language: "node",
    driver: "script",
    variant: "minisearch",
    needs: "npm",
    kinds: TEXTS,
    exact: true,
  },
  { name: "Orama", language: "node", driver: "script", variant: "orama", needs: "npm", kinds: TEXTS },
  {
    name: "tantivy",
    language: "rust",
    driver: "tantivy",
    variant: "index",
    needs: "tantivy",
    kinds: TEXTS,
    exact: true,
  },
  {
    name: "FTS5 and sqlite-vec",
    language: "node",
    driver: "sqlite",
    variant: "both",
    needs: "npm",
    // It ranks by places in two lists: what it finds of the exact answer is told, no more.
    kinds: BOTH,
  },
];
