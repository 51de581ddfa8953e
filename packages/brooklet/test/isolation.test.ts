/**
 * Groups are walls (P5, T9): each group holds words that no other has, and no byte of any answer, whatever is asked
 * and however its group is written, shows the words of another.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type Answered,
  type Asking,
  applicationFiles,
  asking,
  folder,
  search,
  serveProcess,
  writeFiles,
} from "./served.ts";

const GROUPS = ["g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7"] as const;
/** Enough that tails are folded into segments meanwhile. */
const DOCUMENTS = 300;
const QUERIES = 400;

const note = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field secret type string { indexing: summary | attribute }
    field size type long { indexing: summary | attribute }
    field place type tensor<float>(x[2]) { indexing: summary | attribute }
  }
  rank-profile near inherits default {
    inputs { query(q) tensor<float>(x[2]) }
    first-phase { expression: closeness(field, place) + bm25(title) }
    match-features: attribute(size) closeness(field, place)
  }
}`;

/** A word that is only in the documents of one group; numbers of its documents contain it as well. */
const canaryOf = (group: string): string => `canary7${group}7`;
const numberOf = (group: string): number => 770_000_000 + GROUPS.indexOf(group as (typeof GROUPS)[number]) * 1_000_003;

function fieldsOf(group: string, at: number): object {
  const canary = canaryOf(group);
  const title = `every document ${at} of ${canary}`;
  return { title, secret: `${canary}x${at}`, size: numberOf(group), place: [at, GROUPS.length] };
}

/** Fails if an answer to a request for `own` (nothing: for nobody) has anything of another group. */
function expectNothingForeign({ headers, text }: Answered, own: string | undefined, about: string): void {
  for (const group of GROUPS) {
    if (group === own) continue;
    for (const canary of [canaryOf(group), String(numberOf(group))]) {
      expect(`${headers}\n${text}`.includes(canary), `${about}: ${canary} in ${text.slice(0, 300)}`).toBe(false);
    }
  }
}

/** A server with all groups. */
async function server(): Promise<Asking> {
  const home = folder();
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const { port } = await serveProcess(join(home, "data"), "--app", application, "--threads", "2");
  const ask = asking(port);
  const puts = Array.from({ length: DOCUMENTS }, (_, at) =>
    GROUPS.map((group) => {
      const path = `/document/v1/test/note/group/${group}/n${at}`;
      return ask("POST", path, { fields: fieldsOf(group, at) });
    }),
  );
  for (const { status } of await Promise.all(puts.flat())) expect(status).toBe(200);
  return ask;
}

const CONDITIONS = [
  "true",
  'title contains "every"',
  "size > 0",
  '({targetHits: 5}nearestNeighbor(place, q)) or title contains "every"',
  'title contains ({prefix: true}"canary7")',
  'secret contains ({substring: true}"canary")',
] as const;

test("queries of all groups at once see their own group", async () => {
  const ask = await server();
  const queries = Array.from({ length: QUERIES }, async (_, at) => {
    const group = GROUPS[(at * 5) % GROUPS.length] ?? "g0";
    const condition = CONDITIONS[at % CONDITIONS.length] ?? "true";
    const body = {
      yql: `select * from note where ${condition}`,
      "streaming.groupname": group,
      timeout: "60s",
      ranking: "near",
      "input.query(q)": "[1, 1]",
      hits: 20,
    };
    const answered = await ask("POST", "/search/", body);
    expectNothingForeign(answered, group, `${group}: ${condition}`);
    return { group, ...answered };
  });
  // More than a group may have at a time wait, and some of them are sent away: never with another's answer.
  const statuses = (await Promise.all(queries)).map(({ status, group, text }) => {
    if (status === 200) expect(text).toContain(canaryOf(group));
    return status;
  });
  expect(statuses.filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(QUERIES / 4);

  // Asked for by its own words, another group's document is not there.
  for (const [at, group] of GROUPS.entries()) {
    const other = GROUPS[(at + 1) % GROUPS.length] ?? "g0";
    for (const condition of [`title contains "${canaryOf(other)}"`, `size = ${numberOf(other)}`]) {
      const { status, root } = await search(ask, group, `select * from note where ${condition}`, { timeout: "60s" });
      expect([status, root.fields.totalCount, root.children], condition).toEqual([200, 0, undefined]);
    }
  }
});

/** Paths that must not reach documents of `g1`, asked for by somebody who may only write what follows `g0`. */
const TRICKS: readonly string[] = [
  "/document/v1/test/note/group/g0/../g1/n1",
  "/document/v1/test/note/group/g0/%2e%2e/g1/n1",
  "/document/v1/test/note/group/g0/%2E%2E/g1/n1",
  "/document/v1/test/note/group/g0/.%2e/g1/n1",
  "/document/v1/test/note/group/g0/..%2Fg1%2Fn1",
  "/document/v1/test/note/group/g0/%2e%2e%2fg1%2fn1",
  "/document/v1/test/note/group/g0%2F..%2Fg1/n1",
  "/document/v1/test/note/group/g0%2fg1/n1",
  "/document/v1/test/note/group/../group/g1/n1",
  "/document/v1/test/note/group/%2e%2e/group/g1/n1",
  "/document/v1/test/note/group/g0:g1/n1",
  "/document/v1/test/note/group/g0%3Ag1/n1",
  "/document/v1/test/note/group/g0,g=g1/n1",
  "/document/v1/test/note/group/g1%00/n1",
  "/document/v1/test/note/group/g1%20/n1",
  "/document/v1/test/note/group/+g1/n1",
  "/document/v1/test/note/group/G1/n1",
  "/document/v1/test/note/group//g1/n1",
  "/document/v1/test/note/group/g0//g1/n1",
  "/document/v1/test/note/group/g0/n1/../../g1/n1",
  "/document/v1/test/note/docid/g1/n1",
  "/document/v1/test/note/docid/g=g1:n1",
  "/document/v1/test/note/number/1/../../group/g1/n1",
  "/document/v1/test/note:g=g1/group/g0/n1",
  "/document/v1/test:note:g=g1/note/group/g0/n1",
  "/document/v1/test%2Fnote/group/g1/n1",
  "/document/v1/test/note/group/g0/n1?group=g1",
  "/document/v1/test/note/group/g0/n1?streaming.groupname=g1",
  "/document/v1/test/note/group/g0/n1%3Fgroup%3Dg1",
  "/document/v1/../v1/test/note/group/g0/n1",
  "/search/../document/v1/test/note/group/g1/n1",
];

test("paths that try to climb out of their group, by every method", async () => {
  const ask = await server();
  for (const path of TRICKS) {
    for (const method of ["GET", "POST", "PUT", "DELETE"] as const) {
      const body = { POST: { fields: { title: "climbed" } }, PUT: { fields: { title: { assign: "climbed" } } } }[
        method as "POST"
      ];
      const answered = await ask(method, path, body);
      expect(answered.status, `${method} ${path}`).toBeLessThan(500);
      // What lies in the group of the path as it is written is theirs to see.
      expectNothingForeign(answered, "g0", `${method} ${path}`);
    }
  }
  // And nothing of what they wrote arrived in the group they aimed at.
  const { root } = await search(ask, "g1", "select * from note where true", { timeout: "60s", hits: 400 });
  expect(root.fields.totalCount).toBe(DOCUMENTS);
  expect(JSON.stringify(root)).not.toContain("climbed");
});

test("a search that names two groups is refused, wherever they stand", async () => {
  const ask = await server();
  const yql = "select * from note where true";
  const url = (groups: readonly string[]): string =>
    `/search/?${new URLSearchParams([["yql", yql], ["timeout", "60s"], ...groups.map((it) => ["streaming.groupname", it])])}`;
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const answers = await Promise.all([
    ask("POST", url(["g0"]), { yql, "streaming.groupname": "g1" }),
    ask("POST", url(["g0"]), `{"streaming.groupname":"g1","streaming.groupname":"g0"}`),
    ask("POST", url(["g0"]), { streaming: { groupname: "g1" } }),
    ask("POST", url(["g0"]), `{"stre\\u0061ming.groupname":"g1"}`),
    ask("POST", url(["g0"]), { "streaming.userid": 1 }),
    ask("POST", url(["g0"]), { "streaming.selection": 'id.group == "g1"' }),
    ask("POST", url(["g0"]), "streaming.groupname=g1", form),
    ask("POST", url([]), "streaming.groupname=g0&streaming.groupname=g1", form),
    ask("GET", url(["g0", "g1"])),
    ask("GET", `${url(["g0"])}&stre%61ming.groupname=g1`),
    ask("GET", url([])),
    ask("GET", url(["g0/../g1"])),
    ask("GET", url([""])),
    ask("GET", `${url([])}&streaming.selection=`),
  ]);
  for (const [at, answered] of answers.entries()) {
    // `g0/../g1` is the name of a group like any other, in which nothing is.
    if (at === 11) expect([answered.status, answered.text]).toEqual([200, expect.stringContaining('"totalCount":0')]);
    else expect(answered.status, `request ${at}: ${answered.text.slice(0, 200)}`).toBe(400);
    expectNothingForeign(answered, undefined, `request ${at}`);
  }
});

test("a server can refuse searches of all groups, and of no others", async () => {
  const home = folder();
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const words = ["--app", application, "--threads", "1", "--no-search-of-all"];
  const { port } = await serveProcess(join(home, "data"), ...words);
  const ask = asking(port);
  const put = await ask("POST", "/document/v1/test/note/group/g0/n1", { fields: fieldsOf("g0", 1) });
  expect(put.status).toBe(200);
  const yql = "select * from note where true";
  const searched = (selection: string): Promise<Answered> =>
    ask("POST", "/search/", { yql, "streaming.selection": selection, timeout: "60s" });
  const refused = await searched("true");
  expect([refused.status, JSON.parse(refused.text)]).toEqual([403, expect.objectContaining({ code: "SCOPE_REFUSED" })]);
  expectNothingForeign(refused, undefined, "all groups");
  const named = await searched('id.group == "g0" or id.group == "g1"');
  expect([named.status, JSON.parse(named.text).root.fields.totalCount]).toEqual([200, 1]);
});
