/** Serves the API: `node dist/main.js [PORT]`. Users of the example have their own name as their password. */
import process from "node:process";
import { serve } from "@hono/node-server";
import { open } from "brooklet";
import { note, notesApi } from "./api.ts";

const PORT = 8091;

const database = await open({ path: "./data", schemas: [note] });
const api = notesApi(database, async (user, password) => user !== "" && user === password);
const at = { fetch: api.fetch, hostname: "127.0.0.1", port: Number(process.argv[2] ?? PORT) };
const server = serve(at, ({ port }) => console.log(`Notes are at http://127.0.0.1:${port}/`));
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => server.close(() => void database.close()));
