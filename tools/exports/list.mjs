/**
 * The stores whose export scripts stand in `docs/coming-from.md`, by the heading there, and what each needs. `npm` and `python`: packages with
 * their versions. `programs`: what has to be on this machine. `fill`: the program in `stores/` that fills the store.
 */
export const STORES = [
  {
    name: "sqlite-vec",
    fill: "sqlite-vec.mjs",
    npm: { "sqlite-vec": "0.1.9" },
  },
  {
    name: "Orama",
    fill: "orama.mjs",
    npm: { "@orama/orama": "3.1.18" },
    user: "me", // a database has one user, whom the script names
  },
  {
    name: "pgvector",
    fill: "pgvector.mjs", // PostgreSQL and pgvector, compiled to WebAssembly; psql asks it over a socket
    npm: {
      "@electric-sql/pglite": "0.5.14",
      "@electric-sql/pglite-pgvector": "0.0.15",
      "@electric-sql/pglite-socket": "0.2.17",
    },
    programs: ["psql"],
  },
  {
    name: "Chroma",
    fill: "chroma.py",
    python: ["chromadb==1.5.9"],
  },
  {
    name: "LanceDB",
    fill: "lance_db.py",
    python: ["lancedb==0.40.0"],
  },
  {
    name: "turbopuffer",
    fill: "turbopuffer.mjs", // its client is the real one; a service in its place answers as its documentation says
    python: ["turbopuffer==3.1.0"],
  },
];
