/** The database of the playground, over one that is none: what is made anew with every word that is typed is let go, too. */
import { expect, test, vi } from "vitest";
import { addressOf, programOf as programIn } from "../src/address.ts";
import { Playground } from "../src/database.ts";

const opened = vi.hoisted(() => ({ databases: 0, closed: 0, feed: (): Promise<unknown> => Promise.resolve() }));
vi.mock("brooklet/browser", async (original) => ({
  ...(await original<typeof import("brooklet/browser")>()),
  open: () => {
    opened.databases += 1;
    const search = (): Promise<object> => Promise.resolve({ hits: [] });
    const close = (): Promise<void> => {
      opened.closed += 1;
      return Promise.resolve();
    };
    return Promise.resolve({ group: () => ({ feed: () => opened.feed(), search }), close });
  },
}));

const programOf = (id: string): Parameters<Playground["run"]>[0] => ({
  schema: 'schema("note", { title: text() });',
  documents: `[{ id: "${id}", title: "rent" }]`,
  search: "give({});",
});

test("a database that refuses its documents is closed", async () => {
  const playground = new Playground({ run: async () => undefined });
  const open = opened.databases - opened.closed;
  opened.feed = () => Promise.reject(new Error("refused"));
  await expect(playground.run(programOf("1"))).rejects.toThrow("refused");
  opened.feed = () => Promise.resolve();
  expect(opened.databases - opened.closed).toBe(open);
});

test("what is typed while a database is made waits for it, and replaces it; what was typed in between is not run", async () => {
  const playground = new Playground({ run: async () => undefined });
  const open = opened.databases - opened.closed;
  let fed = (): void => undefined;
  opened.feed = () =>
    new Promise<void>((resolve) => {
      fed = resolve;
    });
  const first = playground.run(programOf("1"));
  await expect.poll(() => opened.databases - opened.closed).toBe(open + 1);
  opened.feed = () => Promise.resolve();
  const others = [playground.run(programOf("2")), playground.run(programOf("3"))];
  // Enough turns for what would not wait, however busy the machine is.
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  fed();
  expect(await first).toMatchObject({ documents: 1 });
  expect(await Promise.all(others)).toMatchObject([undefined, { documents: 1 }]);
  expect(opened.databases - opened.closed).toBe(open + 1);
});

test("a long program has an address, too", async () => {
  // Nothing of it is there twice, so that hardly anything is compressed.
  const documents = Array.from({ length: 20_000 }, () => crypto.randomUUID()).join(" ");
  const program = { schema: "schema", documents, search: "search" };
  expect(await programIn(await addressOf(program))).toEqual(program);
});
