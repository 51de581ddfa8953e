/** The API as its clients meet it: sessions, one user's notes, and nobody else's. */
import { open } from "brooklet";
import { expect, onTestFinished, test } from "vitest";
import { note, notesApi } from "../src/api.ts";

const ORIGIN = "http://127.0.0.1";

async function api() {
  const database = await open({ schemas: [note] });
  onTestFinished(() => database.close());
  const app = notesApi(database, async (user, password) => user !== "" && user === password);
  /** A client that keeps its cookie. */
  return function client() {
    let cookie = "";
    return async (method: string, path: string, body?: unknown) => {
      const answer = await app.request(ORIGIN + path, {
        method,
        headers: { cookie, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const set = answer.headers.get("set-cookie");
      if (set !== null) cookie = set.split(";")[0] ?? "";
      const text = await answer.text();
      return { status: answer.status, json: text === "" ? undefined : JSON.parse(text), set };
    };
  };
}

const idsOf = ({ json }: { readonly json: { readonly hits: readonly { readonly id: string }[] } }) =>
  json.hits.map(({ id }) => id);

test("each user has notes of their own, found by their words and folders", async () => {
  const client = await api();
  const [alice, bob] = [client(), client()];
  expect((await alice("POST", "/session", { user: "alice", password: "alice" })).json).toEqual({ user: "alice" });
  await bob("POST", "/session", { user: "bob", password: "bob" });
  await alice("PUT", "/notes/rent", { title: "Rent", body: "The rent is due on Friday.", folder: "home" });
  await alice("PUT", "/notes/trip", { title: "Trip", body: "Rent a car in Lisbon.", folder: "travel" });
  await bob("PUT", "/notes/rent", { title: "Bob's rent", body: "Paid.", folder: "home" });
  expect(idsOf(await alice("GET", "/notes?text=rent&folder=home"))).toEqual(["rent"]);
  expect(idsOf(await alice("GET", "/notes?text=lisbon"))).toEqual(["trip"]);
  // Without words: the newest first.
  expect(idsOf(await alice("GET", "/notes?limit=1"))).toHaveLength(1);
  expect((await alice("GET", "/notes/rent")).json).toMatchObject({ title: "Rent", folder: "home" });
  expect((await bob("GET", "/notes/rent")).json.title).toBe("Bob's rent");
  expect((await bob("GET", "/notes/trip")).status).toBe(404);
  await alice("DELETE", "/notes/trip");
  expect((await alice("GET", "/notes/trip")).status).toBe(404);
  const receipt = await alice("DELETE", "/notes");
  expect([receipt.status, receipt.json.erasedAt]).toEqual([200, expect.any(String)]);
  expect([idsOf(await alice("GET", "/notes")), idsOf(await bob("GET", "/notes"))]).toEqual([[], ["rent"]]);
});

test("without a session nothing is told, and one that is over is none", async () => {
  const client = await api();
  const alice = client();
  expect((await alice("GET", "/notes")).status).toBe(401);
  expect((await alice("POST", "/session", { user: "alice", password: "guess" })).status).toBe(401);
  for (const login of [{}, [], { user: 1, password: 1 }])
    expect((await alice("POST", "/session", login)).status, JSON.stringify(login)).toBe(401);
  const { set } = await alice("POST", "/session", { user: "alice", password: "alice" });
  expect(set).toMatch(/HttpOnly.*SameSite=Strict/);
  expect((await alice("GET", "/notes")).status).toBe(200);
  expect((await alice("DELETE", "/session")).status).toBe(204);
  expect((await alice("GET", "/notes")).status).toBe(401);
});

test("what a client got wrong is said, with the status that it is", async () => {
  const alice = (await api())();
  await alice("POST", "/session", { user: "alice", password: "alice" });
  const wrong = [
    await alice("PUT", "/notes/1", { title: 7, body: "b", folder: "f" }),
    await alice("PUT", "/notes/1", "{"),
    await alice("PUT", "/notes/1", "null"),
    await alice("GET", "/notes?limit=many"),
  ];
  expect(wrong.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  expect(wrong[0]?.json).toEqual({ code: "INVALID_ARGUMENT", message: expect.stringContaining("title") });
  expect((await alice("PUT", "/notes/1", { title: "t", body: "x".repeat(1 << 20), folder: "f" })).status).toBe(413);
});
