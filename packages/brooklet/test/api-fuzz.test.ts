/**
 * Requests of any kind to a server as it is installed (T10): none of them ends it, brings about a defect, or is answered otherwise than
 * the interface says. `BROOKLET_API_REQUESTS` for more of them, `BROOKLET_API_SEED` for others.
 */
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { type ApiRequest, apiRequest, faultsOf } from "./api-requests.ts";
import { drawn } from "./cross-group.ts";
import { type Answered, applicationFiles, asking, folder, serveProcess, writeFiles } from "./served.ts";

const REQUESTS = Number(process.env["BROOKLET_API_REQUESTS"] ?? 1_500);
const SEED = Number(process.env["BROOKLET_API_SEED"] ?? 20_261_125);
const CLIENTS = 6;

const note = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field year type int { indexing: summary | attribute }
    field place type tensor<float>(x[2]) { indexing: summary | attribute }
  }
  fieldset default { fields: title }
  rank-profile near inherits default {
    inputs { query(q) tensor<float>(x[2]) }
    first-phase { expression: closeness(field, place) }
  }
}`;

test(`of ${REQUESTS} requests none ends a server or is answered otherwise than its interface says (T10)`, async () => {
  const home = folder();
  const application = writeFiles(join(home, "application"), applicationFiles({ note }));
  const served = await serveProcess(join(home, "data"), "--app", application, "--threads", "2");
  const ask = asking(served.port);
  for (const group of ["alice", "bob"])
    for (let id = 1; id <= 3; id += 1) {
      const fields = { title: `river stone ${id}`, year: id, place: [id, 1] };
      expect((await ask("POST", `/document/v1/a/note/group/${group}/${id}`, { fields })).status).toBe(200);
    }
  const pick = drawn(SEED);
  const statuses = new Map<string, number>();
  const faults: string[] = [];
  let number = 0;
  const client = async (): Promise<void> => {
    while (number < REQUESTS && faults.length < 10) {
      const at = number++;
      const request = apiRequest(pick);
      const { method, path, body, headers } = request;
      const answered = await ask(method, path, body, {
        ...headers,
        ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
      }).catch((error: Error): Answered => ({ status: 0, headers: "", text: String(error) }));
      const name = `${request.surface} ${answered.status}`;
      statuses.set(name, (statuses.get(name) ?? 0) + 1);
      for (const fault of faultsOf(request, answered))
        faults.push(
          `${at}: ${fault}: ${method} ${path.slice(0, 300)} ${body?.slice(0, 200)}: ${answered.status} ${answered.text.slice(0, 300)}`,
        );
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  expect(faults).toEqual([]);
  expect(served.problems()).toBe("");
  // Every interface answered, and refused: a generator that is always refused tries nothing.
  for (const surface of ["document", "visit", "search", "own search", "feed", "groups"]) {
    const of = [...statuses].filter(([name]) => name.startsWith(`${surface} `));
    expect(
      of.some(([name]) => name.endsWith(" 200")),
      `${surface}: ${of.join()}`,
    ).toBe(true);
    expect(
      of.some(([name]) => /4\d\d$/.test(name)),
      `${surface}: ${of.join()}`,
    ).toBe(true);
  }
  expect((await ask("GET", "/livez")).status).toBe(200);
});

describe("sabotage: each of these answers is seen", () => {
  const headers = [
    "content-type",
    "application/json",
    "x-content-type-options",
    "nosniff",
    "cache-control",
    "no-store",
  ].join("\n");
  const search: ApiRequest = { surface: "search", method: "GET", path: "/search/?yql=x", headers: {} };
  const document: ApiRequest = {
    surface: "document",
    method: "POST",
    path: "/document/v1/a/note/group/g/1",
    headers: {},
  };
  const failure = {
    code: "BAD_REQUEST",
    outcome: "not_applied",
    message: "m",
    pathId: "/document/v1/a/note/group/g/1",
  };

  test("what is right is not", () => {
    expect(faultsOf(document, { status: 400, headers, text: JSON.stringify(failure) })).toEqual([]);
  });

  test.each([
    ["a number for a string", document, 400, { ...failure, code: 17 }],
    ["a failure without outcome", document, 400, { ...failure, outcome: undefined }],
    ["a failure without message", document, 400, { ...failure, message: undefined }],
    ["a member that a feed client cannot skip", document, 400, { ...failure, about: { a: 1 } }],
    ["a defect", document, 500, { ...failure, code: "INTERNAL" }],
    ["a path of this machine", document, 400, { ...failure, message: "at file:///srv/app/server.js:3" }],
    ["a refusal without retry-after", document, 503, { ...failure, code: "UNAVAILABLE" }],
    ["a method that is not allowed, without those that are", document, 405, { ...failure, code: "METHOD_NOT_ALLOWED" }],
    ["a result without totalCount", search, 200, { root: { fields: {} } }],
    ["a hit without relevance", search, 200, { root: { fields: { totalCount: 1 }, children: [{ id: "a" }] } }],
    ["coverage that says nothing", search, 200, { root: { fields: { totalCount: 0 }, coverage: { full: 1 } } }],
    ["half of an answer", search, 200, undefined],
  ])("%s", (_, request, status, answer) => {
    const text = answer === undefined ? '{"root":' : JSON.stringify(answer);
    expect(faultsOf(request, { status, headers, text })).not.toEqual([]);
  });

  test("a server that ended", () => {
    expect(faultsOf(search, { status: 0, headers: "", text: "ECONNREFUSED" })).not.toEqual([]);
  });
});
