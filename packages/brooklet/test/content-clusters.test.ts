/** A document type that several content clusters have, by the typed client: in process, and over HTTP of a server. */
import { zipSync } from "fflate";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Client, connect, int, open, schema, text } from "../src/index.ts";
import { folder, serveProcess, writeFiles } from "./served.ts";

const note = schema("note", { title: text(), year: int() });
/** Where notes are: `documents` takes all of them, `archive` those of years long past. */
const CONTENTS = [
  ["documents", ""],
  ["archive", 'selection="note.year &lt; 2000"'],
].map(
  ([id, selection]) => `<content id="${id}" version="1.0"><redundancy>1</redundancy>
  <documents><document type="note" mode="streaming" ${selection}/></documents>
  <nodes><node hostalias="node1" distribution-key="0"/></nodes></content>`,
);
const FILES: ReadonlyMap<string, string> = new Map([
  [
    "services.xml",
    `<services version="1.0"><container id="default" version="1.0"><search/><document-api/></container>
    ${CONTENTS.join("\n")}</services>`,
  ],
  ["schemas/note.sd", String(note)],
]);

const DOORS: readonly (readonly [string, () => Promise<Client>])[] = [
  ["in process", openBoth],
  ["over HTTP", connectBoth],
];

/** What `open` deploys is in one cluster: the other comes by the interfaces of its console. */
async function openBoth(): Promise<Client> {
  const db = await open({ schemas: [note] });
  onTestFinished(() => db.close());
  const { url, close } = await db.console();
  const encoder = new TextEncoder();
  const files = Object.fromEntries([...FILES].map(([path, content]) => [path, encoder.encode(content)]));
  const response = await fetch(new URL("/application/v2/tenant/default/prepareandactivate", url), {
    method: "POST",
    body: zipSync(files) as BodyInit,
    headers: { "content-type": "application/zip", authorization: `Bearer ${new URL(url).hash.slice("#key=".length)}` },
  });
  expect(response.status, await response.text()).toBe(200);
  await close();
  return db;
}

async function connectBoth(): Promise<Client> {
  const { port } = await serveProcess(folder(), "--app", writeFiles(folder(), FILES));
  return connect({ url: `http://127.0.0.1:${port}` });
}

describe.each(DOORS)("%s, with a type in two content clusters", (_, opened) => {
  const documents = { cluster: "documents" };
  const archive = { cluster: "archive" };

  test("documents are put, read, changed and removed in one of them, or in all", async () => {
    const alice = (await opened()).group("alice");
    await alice.put(note, "old", { title: "lease", year: 1990 });
    await alice.update(note, "old", { title: { assign: "lease, ended" } }, archive);
    expect(await alice.get(note, "old")).toEqual({ title: "lease", year: 1990 });
    expect(await alice.get(note, "old", documents)).toEqual({ title: "lease", year: 1990 });
    expect(await alice.get(note, "old", archive)).toEqual({ title: "lease, ended", year: 1990 });

    await alice.put(note, "new", { title: "rent", year: 2020 });
    expect(await alice.exists(note, "new", archive), "its selection does not take it").toBe(false);
    expect(await alice.getMany(note, ["new", "old"], archive)).toEqual([
      undefined,
      { title: "lease, ended", year: 1990 },
    ]);

    await alice.put(note, "kept", { title: "deed", year: 1980 }, archive);
    expect(await alice.exists(note, "kept", documents)).toBe(false);
    expect(await alice.get(note, "kept"), "found where it is").toEqual({ title: "deed", year: 1980 });

    await alice.remove(note, "old", documents);
    expect(await alice.exists(note, "old", documents)).toBe(false);
    expect(await alice.get(note, "old")).toEqual({ title: "lease, ended", year: 1990 });
    const isOld = { condition: "note.year == 1990", ...archive } as const;
    await expect(alice.remove(note, "kept", isOld)).rejects.toMatchObject({ code: "CONDITION_NOT_MET" });
    await alice.remove(note, "old", isOld);
    expect(await alice.exists(note, "old")).toBe(false);
  });

  test("feeds and visits are of one of them", async () => {
    const alice = (await opened()).group("alice");
    const all = [
      { id: "1", fields: { title: "one", year: 1991 } },
      { id: "2", fields: { title: "two", year: 1992 } },
    ];
    expect(await alice.feed(note, all, archive)).toMatchObject({ applied: 2 });
    const more = [
      { id: "1", fields: { title: "one here", year: 1991 } },
      { id: "3", fields: { title: "three", year: 1993 } },
    ];
    expect(await alice.feed(note, more, documents)).toMatchObject({ applied: 2 });
    expect(await alice.feed(note, [{ id: "2", remove: true }], archive)).toMatchObject({ applied: 1 });
    const visited = async (options: { readonly cluster: string }): Promise<readonly string[]> => {
      const titles: string[] = [];
      for await (const { document } of alice.visit(note, options)) titles.push(document.title);
      return titles;
    };
    const late = [
      { id: "4", fields: { title: "four", year: 2004 } },
      { id: "1", update: { year: { assign: 2001 } } },
    ];
    expect(await alice.feed(note, late, archive), "its selection does not take them").toEqual({
      applied: 0,
      ignored: 2,
    });
    expect(await alice.feed(note, late.slice(0, 1))).toEqual({ applied: 1, ignored: 0 });
    await alice.remove(note, "4");
    expect(await visited(archive)).toEqual(["one"]);
    expect(await visited(documents)).toEqual(["one here", "three"]);
    await expect(alice.visit(note).next()).rejects.toMatchObject({ status: 400 });
  });

  test("one that there is not is refused, by name", async () => {
    const alice = (await opened()).group("alice");
    const nowhere = { cluster: "nowhere" };
    const refused = { message: expect.stringContaining("no content cluster 'nowhere'") };
    await expect(alice.put(note, "1", { title: "one", year: 1 }, nowhere)).rejects.toMatchObject(refused);
    await expect(alice.get(note, "1", nowhere)).rejects.toMatchObject(refused);
    await expect(alice.remove(note, "1", nowhere)).rejects.toMatchObject(refused);
    await expect(alice.visit(note, nowhere).next()).rejects.toMatchObject(refused);
    const feed = alice.feed(note, [{ id: "1", fields: { title: "one", year: 1 } }], nowhere);
    await expect(feed).rejects.toMatchObject({ message: expect.stringContaining("nowhere") });
    expect(await alice.exists(note, "1")).toBe(false);
  });
});
