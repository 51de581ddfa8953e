/**
 * Frameworks that a server may be a part of: the gateway mounted in Hono, Express and Fastify, as packages/gateway/README.md says it, and what Nitro
 * builds with the configuration of docs/install.md, run from where it was copied to.
 */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, expect, inject, test } from "vitest";
import { freePort } from "../free-port.mjs";
import { addSqliteBinary, emptyProject, npm } from "./install.ts";
import { root } from "./packages.mjs";
import { programOf, run } from "./programs.ts";

const scratch = inject("scratch");
const project = join(scratch, "frameworks");
const LIBRARIES = ["express@5.3.0", "fastify@5.12.8", "@hono/node-server@2.1.9", "nitropack@2.13.6", "h3@1.15.11"];
const READY_MS = 60_000;
/** Puts, gets, searches and feeds over HTTP, with an id that no path may collapse, wherever the gateway is. */
const MOUNTED = `${programOf("packages/gateway/README.md").split("const answer =")[0]}
import { getRequestListener } from "@hono/node-server";
import { connect, schema, text } from "brooklet";
import express from "express";
import Fastify from "fastify";
const listener = getRequestListener((request) => gateway.fetch(request));
const note = schema("note", { title: text() });
const said = {};
async function ask(name, server, path) {
  const alice = (await connect({ url: "http://127.0.0.1:" + server.address().port + path, schemas: [note] })).group("alice");
  await alice.put(note, "a/../b", { title: "the deposit" });
  const { hits } = await alice.search(note, { text: "deposit" });
  for await (const { ok } of alice.feed(note, [{ id: "fed", fields: { title: name } }])) said[name] = [ok, hits.map(({ id }) => id)];
  server.close();
}
const listening = (application) => new Promise((resolve) => {
  const server = application.listen(0, "127.0.0.1", () => resolve(server));
});
const hono = new Hono();
hono.mount("/data", (request) => gateway.fetch(request));
await ask("hono", await listening((await import("node:http")).createServer(getRequestListener(hono.fetch))), "/data");
await ask("express", await listening(express().use("/data", listener).use(express.json())), "/data");
const fastify = Fastify();
fastify.removeAllContentTypeParsers();
fastify.addContentTypeParser("*", (_request, _body, done) => done(null));
fastify.all("/*", (request, reply) => {
  reply.hijack();
  return listener(request.raw, reply.raw);
});
await fastify.listen({ port: 0, host: "127.0.0.1" });
await ask("fastify", fastify.server, "");
console.log(JSON.stringify(said));
process.exit(0);
`;
const ROUTE = `import { open, schema, text } from "brooklet";
import { defineEventHandler } from "h3";
const note = schema("note", { title: text() });
const opened = open({ path: process.env.DATA, schemas: [note], threads: 2 });
export default defineEventHandler(async () => {
  const alice = (await opened).group("alice");
  await alice.put(note, "n1", { title: "the deposit" });
  const { hits } = await alice.search(note, { text: "deposit" });
  return [hits.map(({ fields }) => fields.title), (await opened).warnings];
});
`;

beforeAll(() => {
  emptyProject(project);
  const paths = inject("tarballs").map(({ path }) => path);
  npm(project, "install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", ...LIBRARIES, ...paths);
  addSqliteBinary(join(project, "node_modules/better-sqlite3"));
});

test("the gateway is mounted in applications of Hono, Express and Fastify", () => {
  writeFileSync(join(project, "mounted.mjs"), MOUNTED);
  const each = [true, ["a/../b"]];
  expect(JSON.parse(run(project, "mounted.mjs"))).toEqual({ hono: each, express: each, fastify: each });
});

test("what Nitro builds runs where it was copied to, with threads", async () => {
  const page = readFileSync(join(root, "docs/install.md"), "utf8");
  const configuration = /```js [^\n]*\n\/\/ nitro\.config\.mjs\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  mkdirSync(join(project, "routes"));
  writeFileSync(join(project, "nitro.config.mjs"), configuration);
  writeFileSync(join(project, "routes/notes.js"), ROUTE);
  execFileSync(process.execPath, ["node_modules/nitropack/dist/cli/index.mjs", "build"], {
    cwd: project,
    stdio: "pipe",
  });
  const copy = join(scratch, "nitro-copy");
  cpSync(join(project, ".output"), copy, { recursive: true, verbatimSymlinks: true });
  renameSync(project, `${project}-away`);
  const port = String(await freePort());
  const env = {
    ...process.env,
    NODE_ENV: "production",
    HOST: "127.0.0.1",
    PORT: port,
    DATA: join(scratch, "nitro-data"),
  };
  const server = spawn(process.execPath, ["server/index.mjs"], { cwd: copy, env, stdio: "ignore" });
  try {
    expect(await answerOf(`http://127.0.0.1:${port}/notes`)).toEqual([["the deposit"], []]);
  } finally {
    server.kill("SIGKILL");
    renameSync(`${project}-away`, project);
  }
});

/** What is answered once somebody listens there. */
async function answerOf(url: string): Promise<unknown> {
  for (const until = Date.now() + READY_MS; ; await pause(100)) {
    try {
      return await (await fetch(url)).json();
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
}
