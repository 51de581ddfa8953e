/**
 * The attacks A1 to A18 on authority and isolation, each by its name, on a server as it is installed. Many more, drawn at random, are in
 * `cross-group.test.ts`.
 */
import { randomBytes } from "node:crypto";
import { tokenSecret } from "@brooklet/wire";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { groupToken, type Verb } from "../src/token.ts";
import { spawnServer } from "./attacked.ts";
import type { Answered, Asking } from "./served.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const GROUPS = Array.from({ length: 32 }, (_, at) => `g${at}`);
const canaryOf = (group: string): string => `canaryx${group}x`;
const ALL: readonly Verb[] = ["search", "get", "put", "update", "remove", "visit", "erase"];
const pathOf = (group: string, id = "1"): string => `/document/v1/a/note/group/${group}/${id}`;
const YQL = "select * from note where true";

let ask: Asking;
let stop: () => Promise<void>;
let admin: { authorization: string };
let mine: { authorization: string };

const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });
const tokenOf = async (groups: readonly string[], verbs: readonly Verb[] = ALL): Promise<{ authorization: string }> =>
  bearer(await groupToken(KEY, { groups, verbs, ttl: "5m" }));
const search = (body: object, headers: object): Promise<Answered> =>
  ask("POST", "/search/", { yql: YQL, timeout: "60s", ...body }, { ...headers });
const get = (group: string, headers: object): Promise<Answered> => ask("GET", pathOf(group), undefined, { ...headers });

/** A token of any header and claims, signed with a secret. */
async function signed(header: object, claims: object, secret: Uint8Array): Promise<{ authorization: string }> {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part(header)}.${part(claims)}`;
  const key = await crypto.subtle.importKey(
    "raw",
    secret as Uint8Array<ArrayBuffer>,
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signature = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text));
  return bearer(`${text}.${Buffer.from(signature).toString("base64url")}`);
}

/** Fails where anything of another group than `own` stands in an answer. */
function expectOnly(own: string, { headers, text }: Answered): void {
  for (const group of GROUPS) if (group !== own) expect(`${headers}${text}`).not.toContain(canaryOf(group));
}

beforeAll(async () => {
  ({ ask, stop } = await spawnServer(KEY));
  admin = bearer(KEY);
  mine = await tokenOf(["g1"]);
  const lines = GROUPS.flatMap((group, at) =>
    [1, 2].map((id) =>
      JSON.stringify({
        put: `id:a:note:g=${group}:${id}`,
        fields: { title: `every ${canaryOf(group)}`, size: 1_000 + at },
      }),
    ),
  );
  expect((await ask("POST", "/brooklet/v1/feed", lines.join("\n"), admin)).text).toContain(`"applied":${lines.length}`);
});

afterAll(() => stop());

describe("A", () => {
  test("A1 nothing to show where a key is set", async () => {
    const { status, headers, text } = await ask("GET", pathOf("g1"));
    expect([status, text.includes("canary")]).toEqual([401, false]);
    expect(headers.toLowerCase()).toContain("www-authenticate\nbearer");
  });

  test("A2 the group of another, and one that is not there, are told the same", async () => {
    const told = async (group: string): Promise<string> => {
      const { status, text } = await get(group, mine);
      return `${status} ${text.replaceAll(group, "…")}`;
    };
    expect(await told("g2")).toMatch(/^403 /);
    expect(await told("g2")).toBe(await told("nobody"));
  });

  test("A3 the path decides, whatever id stands in the body", async () => {
    const before = (await get("g2", admin)).text;
    const body = {
      put: "id:a:note:g=g2:1",
      id: "id:a:note:g=g2:1",
      fields: { title: `every ${canaryOf("g1")} again` },
    };
    expect((await ask("POST", pathOf("g1", "3"), body, mine)).status).toBe(200);
    expect((await get("g2", admin)).text).toBe(before);
  });

  test("A4 a search without a group is of the only one there is for the caller, or of none", async () => {
    const own = await search({}, mine);
    expect(own.status).toBe(200);
    expectOnly("g1", own);
    expect((await search({}, await tokenOf(["g1", "g2"]))).status).toBe(403);
    const ofAdmin = await search({}, admin);
    expect([ofAdmin.status, /"code":(\d+),/.exec(ofAdmin.text)?.[1]]).toEqual([400, "3"]);
  });

  test("A5 two groups, one in the URL and one in the body, conflict", async () => {
    const answer = await ask(
      "POST",
      "/search/?streaming.groupname=g1",
      { yql: YQL, "streaming.groupname": "g2" },
      mine,
    );
    expect([400, 403]).toContain(answer.status);
    expectOnly("g1", answer);
    expect(
      (await ask("POST", "/search/?streaming.groupname=g1", { yql: YQL, "streaming.groupname": "g2" }, admin)).status,
    ).toBe(400);
  });

  test("A6 a verb that the token lacks is named", async () => {
    const answer = await ask("DELETE", pathOf("g1", "9"), undefined, await tokenOf(["g1"], ["search"]));
    expect(answer.status).toBe(403);
    expect(answer.text).toContain("'remove'");
  });

  test("A7 no algorithm, no signature, that of another key, another content: one message for all", async () => {
    const [head = "", claims = "", signature = ""] = mine.authorization.slice("Bearer ".length).split(".");
    const other = { ...JSON.parse(Buffer.from(claims, "base64url").toString()), groups: ["g2"] };
    const edited = Buffer.from(JSON.stringify(other)).toString("base64url");
    const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
    const foreign = await groupToken(randomBytes(32).toString("base64url"), {
      groups: ["g1"],
      verbs: ALL,
      ttl: "5m",
    });
    const answers = await Promise.all(
      [`${none}.${claims}.`, `${head}.${claims}.`, `${head}.${claims}`, `${head}.${edited}.${signature}`, foreign].map(
        async (token) => await get("g1", bearer(token)),
      ),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
  });

  test("A8 over for 61 s and more, not yet begun, without an end", async () => {
    const secret = await tokenSecret(KEY);
    const now = Math.floor(Date.now() / 1_000);
    const usual = { groups: ["g1"], verbs: ["get"], aud: "brooklet", jti: "a8", iat: now - 200, exp: now + 200 };
    const status = async (claims: object): Promise<number> =>
      (await get("g1", await signed({ alg: "HS256" }, claims, secret))).status;
    expect(await status(usual)).toBe(200);
    expect(await status({ ...usual, exp: now - 65 })).toBe(401);
    expect(await status({ ...usual, nbf: now + 90 })).toBe(401);
    const { exp: _, ...endless } = usual;
    expect(await status(endless)).toBe(401);
  });

  test("A9 the continuation of another, and one with a bit changed", async () => {
    const first = await ask("GET", "/document/v1/a/note/group/g1/?wantedDocumentCount=1", undefined, mine);
    const { continuation } = JSON.parse(first.text) as { continuation: string };
    const go = (group: string, given: string, as: object): Promise<Answered> =>
      ask("GET", `/document/v1/a/note/group/${group}/?wantedDocumentCount=1&continuation=${given}`, undefined, {
        ...as,
      });
    expect((await go("g1", continuation, mine)).status).toBe(200);
    expect((await go("g2", continuation, await tokenOf(["g2"]))).status).toBe(400);
    const last = continuation.at(-2) === "A" ? "B" : "A";
    expect((await go("g1", continuation.slice(0, -2) + last + continuation.slice(-1), mine)).status).toBe(400);
  });

  test.each(["id.group=='g2'", "true"])("A10, A11 a visit at the root, selecting %s", async (selection) => {
    const answer = await ask(
      "GET",
      `/document/v1/?cluster=all&selection=${encodeURIComponent(selection)}`,
      undefined,
      mine,
    );
    expect(answer.status).toBe(403);
    const inside = await ask(
      "GET",
      `/document/v1/a/note/group/g1/?selection=${encodeURIComponent(selection)}`,
      undefined,
      mine,
    );
    expectOnly("g1", inside);
  });

  test.each(["g1%20", "G1", "g1%00", "g1/../../g2", "g1%2f..%2fg2", "%67%32", "g1%01g2"])(
    "A12 the group written as %s",
    async (group) => {
      const answer = await ask("GET", `/document/v1/a/note/group/${group}/1`, undefined, mine);
      expect([400, 403, 404]).toContain(answer.status);
      expect(answer.text).not.toContain("canary");
    },
  );

  test("A13 counting sees the own group alone", async () => {
    const { text } = await search(
      { yql: `${YQL} | all(group(size) each(output(count())))`, "streaming.groupname": "g5" },
      await tokenOf(["g5"]),
    );
    expect(text).toContain('"value":"1005"');
    expect(text.match(/"value":"1\d{3}"/g)).toHaveLength(1);
  });

  test("A14 a trace of level 9 has no other group, path or insides", async () => {
    const answer = await search({ "trace.level": 9, "streaming.groupname": "g1" }, mine);
    expect(answer.status).toBe(200);
    expectOnly("g1", answer);
    expect(answer.text).not.toMatch(/"g[02-9]\b|\/tmp\/|node_modules|\.sqlite|bucket \d/);
  });

  test.each([
    ["POST", "/application/v2/tenant/default/prepareandactivate"],
    [
      "GET",
      "/application/v2/tenant/default/application/default/environment/default/region/default/instance/default/content/",
    ],
    ["GET", "/metrics"],
    ["GET", "/state/v1/metrics"],
    ["GET", "/brooklet/v1/groups"],
    ["GET", "/brooklet/v1/queries/slow"],
    ["GET", "/brooklet/v1/models"],
    ["GET", "/readyz"],
  ])("A16 what is an admin's: %s %s", async (method, path) => {
    expect((await ask(method, path, method === "POST" ? "x" : undefined, mine)).status).toBe(403);
  });

  test("A17 32 groups at a time with one query: each sees what is its own", async () => {
    const tokens = await Promise.all(GROUPS.map((group) => tokenOf([group])));
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        GROUPS.map(
          async (group, at) =>
            await search(
              { yql: "select * from note where title contains 'every'", "streaming.groupname": group, timeout: "60s" },
              tokens[at] ?? {},
            ),
        ),
      );
      for (const [at, answer] of answers.entries()) {
        const group = GROUPS[at] ?? "";
        if (answer.status === 429 || answer.status === 503) continue;
        expect(answer.text).toContain(canaryOf(group));
        expectOnly(group, answer);
      }
    }
  });

  test("A18 a credential of 16 KiB and more", async () => {
    expect((await get("g1", { authorization: `Bearer ${"x".repeat(16_400)}` })).status).toBe(401);
    expect((await get("g1", { authorization: `Bearer ${"a.".repeat(8_200)}` })).status).toBe(401);
  });
});
