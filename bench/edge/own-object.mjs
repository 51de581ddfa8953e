/**
 * A database in somebody's own object beside one in a process of Node: `openIn` and `open`, the same searches. Each request has all of a
 * round, so that what is measured is searches and not requests.
 */
import { createRequire } from "node:module";
import { workerModules } from "../../tools/worker.mjs";

const { Miniflare } = createRequire(new URL("../../apps/worker/package.json", import.meta.url))("miniflare");
const AGENT = new URL("agent.mjs", import.meta.url).pathname;
const DIRECT = "direct";

/** The program of a process with a database in memory, which does what a request says. It prints its address. */
export function processProgram() {
  const [brooklet, notes] = ["../../packages/brooklet/dist/index.js", "notes.mjs"].map((place) =>
    JSON.stringify(new URL(place, import.meta.url).href),
  );
  return `import { createServer } from "node:http";
    import { text } from "node:stream/consumers";
    const [{ open }, { fillGroup, note, recall }] = [await import(${brooklet}), await import(${notes})];
    const database = await open({ schemas: [note] });
    const group = database.group("me");
    const verbs = { fill: () => fillGroup(group), recall: (name) => recall(group, name) };
    const server = createServer(async (request, response) => {
      const [verb, name] = JSON.parse(await text(request));
      response.end(JSON.stringify((await verbs[verb](name)) ?? null));
    });
    server.listen(0, "127.0.0.1", () => console.log("http://127.0.0.1:" + server.address().port));`;
}

/** A Worker with such an object, reached without the simulator's own Worker. Its address, and what ends it. */
export async function startAgent() {
  const { modules, ...rest } = await workerModules(AGENT);
  const workerd = new Miniflare({
    workers: [
      { name: "agents", ...rest, modules, durableObjects: { AGENT: { className: "Agent", useSQLite: true } } },
      {
        ...{ name: DIRECT, ...rest, modules },
        durableObjects: { AGENT: { className: "Agent", scriptName: "agents" } },
        unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      },
    ],
  });
  return { url: (await workerd.unsafeGetDirectURL(DIRECT)).origin, end: () => workerd.dispose() };
}
