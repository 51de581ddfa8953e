import { serve } from "@hono/node-server";
import { open } from "brooklet";
import { api } from "./api.ts";
import { note } from "./schema.ts";

const db = await open({ path: "./data", schemas: [note] });
const server = serve(
  { fetch: api(db).fetch, hostname: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) },
  (info) => console.log(`Listening on http://127.0.0.1:${info.port}`),
);
process.once("SIGTERM", () => server.close(() => void db.close()));
