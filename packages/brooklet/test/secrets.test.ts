/**
 * Keys, tokens, texts of documents and of queries, ids and names of groups stand in nothing that a server tells its operator (T18, S-24):
 * its log with every answer, its audit log, its metrics, the names of its files.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { groupToken } from "../src/token.ts";
import { applicationFiles, asking, folder, writeFiles } from "./served.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const LEAK = fileURLToPath(new URL("leaking-server.cjs", import.meta.url));
const KEY = "MARKkey0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const MARKS = [
  "MARKkey",
  "MARKwrong",
  "MARKtext",
  "MARKquery",
  "MARKgroup",
  "MARKid",
  "MARKsecret",
  "MARKparameter",
  "MARKfield",
];
const ROUNDS = Number(process.env["BROOKLET_SECRET_ROUNDS"] ?? 10);
const note = `schema note { document note { field title type string { indexing: summary | index } } fieldset default { fields: title } }`;

/** All that a server tells while it is asked what it should be and what it should not, and how often each mark stands in it. */
async function told(leak: string): Promise<{ text: string; tokens: readonly string[] }> {
  const home = folder();
  const [data, audit] = [join(home, "data"), join(home, "audit.jsonl")];
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const words = [
    "--data",
    data,
    "--app",
    application,
    "--audit",
    audit,
    "--log",
    "json",
    "--log-level",
    "debug",
    "--slow-ms",
    "0",
  ];
  const child = spawn(process.execPath, [CLI, "serve", "--port", "0", "--threads", "2", ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      BROOKLET_ADMIN_KEY: KEY,
      VESPA_SECRET_MODEL: "MARKsecret",
      ...(leak === "" ? {} : { NODE_OPTIONS: `--require ${LEAK}`, BROOKLET_TEST_LEAK: leak }),
    },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  const port = await new Promise<number>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        const found = /Listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1];
        if (found !== undefined) resolve(Number(found));
      });
  });
  const ask = asking(port);
  const token = await groupToken(KEY, {
    group: "MARKgroup",
    verbs: ["search", "get", "put", "remove", "erase", "visit"],
    ttl: "5m",
  });
  const shown = [`Bearer ${token}`, `Bearer ${KEY}`, "Bearer MARKwrong", "Basic MARKwrong"];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const authorization of shown) {
      const as = { authorization };
      const path = `/document/v1/MARKid/note/group/MARKgroup/MARKid${round}`;
      await ask("POST", path, { fields: { title: "MARKtext of a river" } }, as);
      await ask("POST", path, { fields: { MARKfield: "MARKtext" } }, as);
      await ask("POST", `${path}?MARKparameter=MARKparameter&condition=MARKquery`, '{"fields": MARKtext', as);
      await ask("GET", path, undefined, as);
      await ask("GET", `/document/v1/MARKid/note/group/MARKother/MARKid`, undefined, as);
      for (const yql of [
        "select * from note where title contains 'MARKquery'",
        "select MARKquery from",
        "select * from note where MARKfield > 3",
      ])
        await ask("POST", "/search/", { yql, "streaming.groupname": "MARKgroup", MARKparameter: "MARKparameter" }, as);
      await ask("GET", "/search/?yql=MARKquery&streaming.groupname=MARKgroup%01", undefined, as);
      await ask("POST", "/brooklet/v1/search", { group: "MARKgroup", schema: "note", text: "MARKquery" }, as);
      await ask(
        "POST",
        "/brooklet/v1/feed",
        `{"put":"id:a:note:g=MARKgroup:MARKid","fields":{"title":"MARKtext"}}\nMARKtext`,
        as,
      );
      await ask("GET", "/document/v1/?cluster=all&selection=MARKquery", undefined, as);
      await ask("POST", "/application/v2/tenant/default/prepareandactivate", "MARKtext", as);
      await ask("GET", "/MARKparameter", undefined, as);
    }
    const erased = await ask("DELETE", "/brooklet/v1/groups/MARKgroup", undefined, {
      authorization: `Bearer ${token}`,
    });
    expect(erased.status).toBe(200);
  }
  const admin = { authorization: `Bearer ${KEY}` };
  for (const path of [
    "/metrics",
    "/metrics/v2/values",
    "/state/v1/metrics",
    "/state/v1/health",
    "/readyz",
    "/",
    "/ApplicationStatus",
    "/brooklet/v1/queries/slow",
    "/brooklet/v1/models",
  ])
    said += (await ask("GET", path, undefined, admin)).text;
  child.kill("SIGTERM");
  await new Promise((resolve) => child.once("close", resolve));
  const names = readdirSync(data, { recursive: true }).join("\n");
  return { text: `${said}\n${readFileSync(audit, "utf8")}\n${names}`, tokens: [token] };
}

/** The marks that stand in a text. */
const found = (text: string, marks: readonly string[]): readonly string[] =>
  marks.filter((mark) => text.includes(mark));

test("nothing that a server tells has a mark of what it was asked", async () => {
  const { text, tokens } = await told("");
  // It told something of each kind: a log that says nothing has no marks either.
  for (const event of [
    "listening",
    "answered",
    "slow",
    "refused",
    "throttled",
    "erase",
    "deploy",
    "brooklet_requests_total",
  ])
    expect(text, event).toContain(event);
  expect(found(text, [...MARKS, ...tokens])).toEqual([]);
});

test("sabotage: a server that says the Authorization header of its requests is seen", async () => {
  const { text, tokens } = await told("credentials");
  expect(found(text, [...MARKS, ...tokens])).toEqual(["MARKkey", "MARKwrong", ...tokens]);
});
