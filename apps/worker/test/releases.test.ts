/** Two releases of the Worker before the same objects, as while one is deployed: the gateway of one speaks another number than the objects. */
import { fileURLToPath } from "node:url";
import { type Client, connect, type Group, int, schema, text } from "brooklet";
import { Miniflare, type WorkerOptions } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { workerModules } from "../../../tools/worker.mjs";
import { addressOf, workerdOptions } from "../src/node/workerd.ts";

const WORKER = fileURLToPath(new URL("tested-worker.ts", import.meta.url));
type Modules = Awaited<ReturnType<typeof workerModules>>["modules"];
const OTHER = "other";
const note = schema("note", { title: text(), n: int() });
const refused = { code: "UNAVAILABLE", status: 503, outcome: "not_applied" };
let workerd: Miniflare;
let client: Client;

beforeAll(async () => {
  const { workers, ...options } = workerdOptions({ second: OTHER });
  const [first, second] = workers as [WorkerOptions, WorkerOptions];
  // Of the sources, so that names are there.
  const { modules, modulesRoot } = await workerModules(WORKER);
  const other = { ...second, modulesRoot, modules: otherRelease(modules) };
  workerd = new Miniflare({ ...options, workers: [{ ...first, modulesRoot, modules }, other] });
  client = await connect({ url: await addressOf(workerd), schemas: [note] });
});

afterAll(() => workerd.dispose());

/** The same script with another number of messages. */
function otherRelease(modules: Modules): Modules {
  return modules.map((module) => {
    if (module.type !== "ESModule") return module;
    const contents = String(module.contents).replace(
      /\bMESSAGES = (\d+);/,
      (_, number) => `MESSAGES = ${Number(number) + 1};`,
    );
    expect(contents).not.toBe(module.contents);
    return { ...module, contents };
  });
}

test("whatever the gateway of another release asks of a group is refused, to be asked again, and nothing of it is done", async () => {
  const group = client.group("alice");
  await group.put(note, "1", { title: "red balloon", n: 1 });
  const other = connect({ url: await addressOf(workerd, OTHER), retry: { attempts: 1 } });
  const behind: Group = other.group("alice");
  const asked: readonly (() => Promise<unknown>)[] = [
    () => behind.put(note, "2", { title: "red boat", n: 2 }),
    () => behind.update(note, "1", { n: { assign: 9 } }),
    () => behind.remove(note, "1"),
    () => behind.get(note, "1"),
    () => behind.search(note, { text: "red" }),
    () => other.group("bob").put(note, "1", { title: "red", n: 1 }),
    async () => {
      for await (const _ of behind.visit(note)) expect.unreachable();
    },
  ];
  for (const ask of asked) await expect(ask()).rejects.toMatchObject(refused);
  const feeding = behind.feed(note, [{ id: "3", fields: { title: "red", n: 3 } }]);
  for await (const told of feeding) expect(told).toMatchObject({ ok: false, error: refused });
  expect(await group.get(note, "1")).toEqual({ title: "red balloon", n: 1 });
  expect([await group.count(note), await client.group("bob").count(note)]).toEqual([1, 0]);
  const names: string[] = [];
  for await (const name of client.groups()) names.push(name);
  expect(names).toEqual(["alice"]);
});
